"""The main job in one page: branch one start into K futures, generate them, rank them, hold them against the truth.

Writes demo/demo.png and demo/demo.mp4: every future as the learned simulator generated it, beside the true
simulator under the same actions.

python examples/demo.py --futures 8 --frames 24
"""

import argparse
import time
from pathlib import Path

import gymnasium as gym
import numpy as np

import simforcing_env  # noqa: F401 (registers the ids)
from simforcing_env.pictures import caption, column, row, write_mp4, write_png
from simforcing_env.rendering import enlarge
from teachers.pusht.pushes import clip, detour, random_push
from teachers.pusht.teacher import PushTTeacher


def push(teacher: PushTTeacher, rng: np.random.Generator, frames: int) -> np.ndarray:
    """``(frames, 2)`` targets in px: go to a random side of the block and push it, then hold."""
    plan = random_push(teacher.world.block_pose, rng, gap=8.0, length=rng.uniform(15, 60), speed=8.0)
    here, targets = np.array(teacher.world.agent.position), []
    for stop in detour(here, plan.approach, teacher.world.block_pose):
        count = max(1, int(np.ceil(np.linalg.norm(stop - here) / 30)))
        targets += [here + (stop - here) * (i + 1) / count for i in range(count)]
        here = stop
    targets += plan.targets()
    return clip(np.array((targets + [targets[-1]] * frames)[:frames])).astype(np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", default="pusht-nano", help="packaged name, folder or hub id")
    parser.add_argument("--start", default="near-800038", help="any start of Push-T")
    parser.add_argument("--futures", type=int, default=8, help="branches of the start")
    parser.add_argument("--frames", type=int, default=24, help="frames of each future")
    parser.add_argument("--seed", type=int, default=0, help="of the episode and of the pushes")
    parser.add_argument("--folder", type=Path, default=Path("demo"), help="where demo.png and demo.mp4 go")
    args = parser.parse_args()

    envs = gym.make_vec("SimForcing/PushT-v0", num_envs=1, checkpoint=args.checkpoint, chunk=args.frames)
    truth = gym.make_vec("SimForcing/PushT-Teacher-v0", num_envs=1, chunk=args.frames)
    for env in (envs, truth):
        _, info = env.reset(seed=args.seed, options={"start": args.start})
    teacher, rng = truth.backend.teachers[0], np.random.default_rng(args.seed)
    actions = np.stack([push(teacher, rng, args.frames) for _ in range(args.futures)])

    envs.branch(args.futures).step(actions)  # the first call warms up
    futures = envs.branch(args.futures)
    began = time.perf_counter()
    *_, made = futures.step(actions)
    seconds = time.perf_counter() - began
    *_, true = truth.branch(args.futures).step(actions)

    predicted, actual = made["labels"]["coverage"][:, -1], true["labels"]["coverage"][:, -1]
    order = predicted.argsort()[::-1]
    print(f"{args.futures} futures x {args.frames} frames from {args.start} (coverage {info['coverage'][0]:.3f})")
    print(f"{seconds:.2f} s, {args.futures * args.frames / seconds:.0f} frames/s\n")
    print("rank  future  predicted coverage  true coverage  pusher error px")
    errors = np.linalg.norm(made["proprio"][:, -1] - true["proprio"][:, -1], axis=1)
    for rank, k in enumerate(order, 1):
        print(f"{rank:4d}  {k:6d}  {predicted[k]:18.3f}  {actual[k]:13.3f}  {errors[k]:15.1f}")
    chosen, best, random = actual[order[0]], actual.max(), actual.mean()
    print(f"\nthe chosen future truly reaches {chosen:.3f}; the best choice {best:.3f}, a random one {random:.3f}")

    times = np.unique(np.linspace(0, args.frames - 1, 6).astype(int))
    strips = [
        caption(
            f"generated after {', '.join(map(str, times + 1))} frames          |          true simulator, same actions",
            1600,
        )
    ]
    for k in order:
        pictures = [[enlarge(each["frames"][k, t], 2) for t in times] for each in (made, true)]
        label = column(
            [caption(line, 120) for line in (f"future {k}", f"predicted {predicted[k]:.3f}", f"true {actual[k]:.3f}")]
        )
        blank = np.full((128 - label.shape[0], 120, 3), 255, np.uint8)
        strips.append(row([column([label, blank]), row(pictures[0], 2), row(pictures[1], 2)], gap=10))
    picture = column(strips, gap=4)
    write_png(args.folder / "demo.png", picture[:, : max(strip.shape[1] for strip in strips[1:])])

    film = []
    for t in range(args.frames):
        pairs = [row([enlarge(made["frames"][k, t], 2), enlarge(true["frames"][k, t], 2)], 2) for k in order]
        titles = [caption("generated               true", pairs[0].shape[1]) for _ in order]
        cells = [column([title, pair]) for title, pair in zip(titles, pairs, strict=True)]
        blank = np.full_like(cells[0], 255)
        cells += [blank] * (-len(cells) % 4)
        film.append(column([row(cells[i : i + 4], 12) for i in range(0, len(cells), 4)], 6))
    write_mp4(args.folder / "demo.mp4", film, envs.contract.frame_hz)
    print(f"wrote {args.folder / 'demo.png'} and {args.folder / 'demo.mp4'}")


if __name__ == "__main__":
    main()
