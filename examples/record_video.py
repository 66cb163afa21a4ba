"""Record episodes of the learned simulator with Gymnasium's own RecordVideo (needs the extra "rl" for moviepy).

python examples/record_video.py --episodes 2 --steps 60
"""

import argparse

import gymnasium as gym
import numpy as np

import simforcing_env  # noqa: F401 (registers the ids)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--env", default="SimForcing/PushT-v0", help="or SimForcing/PushT-Teacher-v0, which takes no checkpoint"
    )
    parser.add_argument("--checkpoint", default=None, help="packaged name, folder or hub id; default is the env's own")
    parser.add_argument("--episodes", type=int, default=2, help="videos to record")
    parser.add_argument("--steps", type=int, default=60, help="frames of each")
    parser.add_argument("--folder", default="videos", help="where the mp4 files go")
    parser.add_argument("--seed", type=int, default=0, help="of the first episode and of the actions")
    args = parser.parse_args()

    options = {} if args.checkpoint is None else {"checkpoint": args.checkpoint}
    env = gym.make(args.env, max_episode_steps=args.steps, render_mode="rgb_array", render_scale=4, **options)
    env = gym.wrappers.RecordVideo(env, args.folder, episode_trigger=lambda _: True)
    rng = np.random.default_rng(args.seed)
    for episode in range(args.episodes):
        observation, info = env.reset(seed=args.seed + episode)
        target, velocity, ended, total = observation["proprio"].copy(), np.zeros(2), False, 0.0
        while not ended:
            velocity = 0.85 * velocity + rng.normal(0, 8, 2)  # a target that wanders
            target = np.clip(target + velocity, env.action_space.low, env.action_space.high).astype(np.float32)
            _, reward, terminated, truncated, _ = env.step(target)
            ended, total = terminated or truncated, total + reward
        print(f"episode {episode} from {info['start']}: return {total:.2f}")
    env.close()
    print(f"videos are in {args.folder}")


if __name__ == "__main__":
    main()
