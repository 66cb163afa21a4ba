"""Short films of episodes on both sides, where they agree and where they do not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simforcing_env.evaluation.comparison.outcome import Outcome
from simforcing_env.evaluation.comparison.playing import Trace
from simforcing_env.evaluation.pictures import framed
from simforcing_env.pictures import Picture, caption, column, row
from simforcing_env.policies.policy import Policy
from world_model.atomic import replacing_file

KINDS = {
    (True, True): "both-succeed",
    (False, False): "both-fail",
    (False, True): "learned-alone",
    (True, False): "true-alone",
}
"""Success in truth and in imagination to the name of what happened."""
LONGEST = 60  # pictures of a film


def kind_of(true: Outcome, learned: Outcome) -> str:
    """How a pair of episodes came out."""
    return KINDS[true.success, learned.success]


@dataclass(frozen=True)
class FilmMaker:
    """Keeps one film of each policy and kind, the first of its starts."""

    folder: Path
    frame_hz: float

    def watch(self, policy: Policy, outcomes: list[Outcome], traces: dict[str, list[Trace]]) -> None:
        """Film what a batch has that is not filmed yet, where both sides ran in it."""
        sides = {side: [o for o in outcomes if o.side == side] for side in ("true", "learned")}
        if "true" not in traces:
            return
        for index, (true, learned) in enumerate(zip(sides["true"], sides["learned"], strict=True)):
            kind = kind_of(true, learned)
            path = self.folder / f"{policy.hash}-{kind}.webp"
            if not path.exists():
                frames = side_by_side(traces["true"][index], traces["learned"][index], true, learned)
                write_webp(path, frames, self._pause(traces["true"][index]))

    def _pause(self, trace: Trace) -> int:
        """Milliseconds of a picture: four times as fast as life."""
        every = trace.frame[1] - trace.frame[0] if len(trace.frame) > 1 else 1
        return max(40, round(1000 * every / self.frame_hz / 4))


def side_by_side(true: Trace, learned: Trace, true_outcome: Outcome, learned_outcome: Outcome) -> list[Picture]:
    """Pictures of both episodes at the ends of chunks, true left; a side that has ended stands still."""
    count = max(len(true.images), len(learned.images))
    shown = np.unique(np.linspace(0, count - 1, min(count, LONGEST)).round().astype(int))
    return [
        row([_side("true", true, true_outcome, i), _side("learned", learned, learned_outcome, i)], 4) for i in shown
    ]


def _side(name: str, trace: Trace, outcome: Outcome, index: int) -> Picture:
    last = min(index, len(trace.images) - 1)
    picture = framed(trace.images[last])
    over = index >= len(trace.images) - 1
    verdict = ("success" if outcome.success else "failure") if over else f"frame {trace.frame[last]}"
    return column([caption(f"{name}: {verdict}", picture.shape[1]), picture])


def write_webp(path: Path, frames: list[Picture], milliseconds: int) -> None:
    """An animated picture that browsers play without more; it appears whole or not at all."""
    from PIL import Image

    first, *rest = [Image.fromarray(frame) for frame in frames]
    durations = [milliseconds] * len(rest) + [1500]
    with replacing_file(path) as temporary:
        first.save(
            temporary, "WEBP", save_all=True, append_images=rest, duration=durations, loop=0, quality=60, method=4
        )
