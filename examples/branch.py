"""Plan by hand: branch one moment into K futures, score them, take the best, go on from there.

python examples/branch.py --futures 16 --rounds 3
"""

import argparse

import gymnasium as gym
import numpy as np

import simforcing_env  # noqa: F401 (registers the ids)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", default="pusht-nano", help="packaged name, folder or hub id")
    parser.add_argument("--futures", type=int, default=16, help="candidates in each round")
    parser.add_argument("--frames", type=int, default=8, help="frames that a candidate looks ahead")
    parser.add_argument("--rounds", type=int, default=3, help="times that the best candidate is carried out")
    parser.add_argument("--seed", type=int, default=0, help="of the episode and of the candidates")
    args = parser.parse_args()

    rng = np.random.default_rng(args.seed)
    env = gym.make("SimForcing/PushT-v0", checkpoint=args.checkpoint, chunk=args.frames).unwrapped
    observation, info = env.reset(seed=args.seed)
    print(f"start {info['start']}: coverage {info['coverage']:.3f}")
    low, high = env.action_space.low, env.action_space.high
    for number in range(args.rounds):
        # Straight moves of random direction and speed; the futures share their noise, so only the actions differ.
        moves = rng.uniform(-20, 20, (args.futures, 1, 2)) * np.arange(1, args.frames + 1)[:, None]
        candidates = np.clip(observation["proprio"] + moves, low, high).astype(np.float32)
        futures = env.branch(args.futures)
        *_, infos = futures.step(candidates)
        best = int(infos["coverage"].argmax())
        expected = futures.branch(1, index=best).snapshot()  # could be kept, sent elsewhere, or restored
        observation, _, terminated, _, info = env.step(candidates[best])
        print(
            f"round {number}: best of {args.futures} is {best} with coverage {info['coverage']:.3f} "
            f"(worst {infos['coverage'].min():.3f}, snapshot {len(expected.to_bytes()) / 1e3:.0f} kB)"
        )
        if terminated:
            print("solved")
            break


if __name__ == "__main__":
    main()
