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

ZOOM, LABEL = 2, 120  # factor of the frames, width of the text beside them


def push(teacher: PushTTeacher, rng: np.random.Generator, frames: int) -> np.ndarray:
    """``(frames, 2)`` targets in px: go to a random side of the block, push it, then hold."""
    plan = random_push(teacher.world.block_pose, rng, gap=8.0, length=rng.uniform(15, 60), speed=8.0)
    here, targets = np.array(teacher.world.agent.position), []
    for stop in detour(here, plan.approach, teacher.world.block_pose):
        count = max(1, int(np.ceil(np.linalg.norm(stop - here) / 30)))
        targets += [here + (stop - here) * (i + 1) / count for i in range(count)]
        here = stop
    targets += plan.targets()
    return clip(np.array((targets + [targets[-1]] * frames)[:frames])).astype(np.float32)


def still(made: np.ndarray, true: np.ndarray, texts: list[list[str]], order: np.ndarray) -> np.ndarray:
    """Picture with a row for each future: generated frames, then true ones; clips are ``(K, n, H, W, 3)``."""
    times = np.unique(np.linspace(0, made.shape[1] - 1, 6).astype(int))
    side = made.shape[2] * ZOOM
    heads = [row([caption(f"{name}, frame {t + 1}", side) for t in times], 2) for name in ("generated", "true")]
    rows = [row([caption("", LABEL), *heads], 10)]
    for k in order:
        text = column([caption(line, LABEL) for line in texts[k]])
        text = np.pad(text, ((0, side - text.shape[0]), (0, 0), (0, 0)), constant_values=255)
        rows.append(row([text, *(row([enlarge(clips[k, t], ZOOM) for t in times], 2) for clips in (made, true))], 10))
    return column(rows, 4)


def film(made: np.ndarray, true: np.ndarray, order: np.ndarray) -> list[np.ndarray]:
    """Frames with a pair for each future, four pairs in a row."""
    side, pictures = made.shape[2] * ZOOM, []
    head = row([caption(name, side) for name in ("generated", "true")], 2)
    for t in range(made.shape[1]):
        cells = [column([head, row([enlarge(clips[k, t], ZOOM) for clips in (made, true)], 2)]) for k in order]
        cells += [np.full_like(cells[0], 255)] * (-len(cells) % 4)
        pictures.append(column([row(cells[i : i + 4], 12) for i in range(0, len(cells), 4)], 6))
    return pictures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", default="pusht-nano", help="packaged name, folder or hub id")
    parser.add_argument("--start", default="near-800018", help="any start of Push-T")
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
    futures = envs.branch(args.futures)  # all share their noise: they differ by their actions alone
    began = time.perf_counter()
    *_, made = futures.step(actions)
    seconds = time.perf_counter() - began
    *_, true = truth.branch(args.futures).step(actions)

    predicted, actual = made["labels"]["coverage"][:, -1], true["labels"]["coverage"][:, -1]
    errors = np.linalg.norm(made["proprio"][:, -1] - true["proprio"][:, -1], axis=1)
    order = predicted.argsort()[::-1]
    print(f"{args.futures} futures x {args.frames} frames from {args.start} (coverage {info['coverage'][0]:.3f})")
    print(f"generated in {seconds:.2f} s: {args.futures * args.frames / seconds:.0f} frames/s\n")
    print("rank  future  predicted coverage  true coverage  pusher error, px")
    for rank, k in enumerate(order, 1):
        print(f"{rank:4d}  {k:6d}  {predicted[k]:18.3f}  {actual[k]:13.3f}  {errors[k]:16.1f}")
    chosen, best, mean = actual[order[0]], actual.max(), actual.mean()
    print(f"\nthe future ranked first truly reaches {chosen:.3f}; the best one {best:.3f}, the mean of all {mean:.3f}")

    texts = [[f"future {k}", f"predicted {predicted[k]:.3f}", f"true {actual[k]:.3f}"] for k in range(args.futures)]
    write_png(args.folder / "demo.png", still(made["frames"], true["frames"], texts, order))
    write_mp4(args.folder / "demo.mp4", film(made["frames"], true["frames"], order), envs.contract.frame_hz)
    print(f"wrote {args.folder / 'demo.png'} and {args.folder / 'demo.mp4'}")


if __name__ == "__main__":
    main()
