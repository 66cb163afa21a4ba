"""Drive the learned LIBERO-Goal: one arm for each of its ten tasks, all in one batch, without a simulator.

python examples/libero.py --frames 24 --folder libero
"""

import argparse
from pathlib import Path

import gymnasium as gym
import imageio.v3 as iio
import numpy as np

import simforcing_env  # noqa: F401 (registers the ids)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--env", default="SimForcing/LiberoGoal-v0", help="or SimForcing/LiberoGoal-Teacher-v0")
    parser.add_argument("--tasks", type=int, nargs="+", default=list(range(10)), help="numbers in the suite")
    parser.add_argument("--frames", type=int, default=24, help="frames to generate, 0.2 s each")
    parser.add_argument("--folder", type=Path, default=Path("libero"), help="where the film goes")
    parser.add_argument("--seed", type=int, default=0, help="of episodes and actions")
    args = parser.parse_args()

    count = len(args.tasks)
    envs = gym.make_vec(args.env, num_envs=count, task=args.tasks)
    observation, info = envs.reset(seed=args.seed)
    rng, push, film = np.random.default_rng(args.seed), np.zeros((count, 7)), []
    for _ in range(args.frames):
        push = 0.9 * push + rng.normal(0, [0.3, 0.3, 0.3, 0.05, 0.05, 0.1, 0.3], (count, 7))  # hands that wander
        actions = np.repeat(push[:, None].clip(-1, 1), envs.action_space.shape[1], axis=1).astype(np.float32)
        observation, _, _, _, step = envs.step(actions)
        film.append(np.concatenate([observation["image_agentview"], observation["image_wrist"]], axis=2))
    for start, chance in zip(info["start"], step["success"][:, -1], strict=True):
        print(f"{start}: probability of success {chance:.3f}")
    args.folder.mkdir(parents=True, exist_ok=True)
    columns = np.stack([np.concatenate(frames, axis=0) for frames in film])  # (frames, count H, 2 W, 3)
    iio.imwrite(args.folder / "libero.mp4", columns, fps=5)
    iio.imwrite(args.folder / "libero.png", columns[-1])
    print(f"{args.folder / 'libero.mp4'}: agentview left, wrist right, one task below the other")


if __name__ == "__main__":
    main()
