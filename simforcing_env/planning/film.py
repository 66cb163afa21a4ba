"""A film of planning on Push-T: the futures of every plan fanned out over the true frame, and the chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simforcing_env.pictures import Picture, caption, column, row
from simforcing_env.planning.search import Plan
from simforcing_env.planning.world import Moment
from world_model.contract import Contract

SIDE = 384  # px of a panel
CHOSEN, WORST, BEST = (20, 20, 20), (214, 96, 77), (67, 147, 195)
_EDGES = ((0, 1), (0, 2), (1, 2))  # between the three key points of the block


@dataclass
class PlanFilm:
    """Collects plans of one episode; give `watch` to a `PlanningPolicy` and `see` the frames that follow."""

    contract: Contract
    slot: int = 0
    frames: list[Picture] = field(default_factory=list)
    _shown: tuple[Moment, Plan] | None = None

    def watch(self, moment: Moment, plan: Plan) -> None:
        """A plan was made."""
        self._shown = moment, plan
        self.frames += [self._panel(self._present(moment), text) for text in ("imagining", "imagining", "chosen")]

    def see(self, infos: dict[str, Any]) -> None:
        """The true frames of the chunk that was carried out."""
        for frame in infos["frames"][self.slot]:
            self.frames.append(self._panel(frame, "carried out"))

    def _present(self, moment: Moment) -> Picture:
        picture: Picture = moment.observation["image"][self.slot]
        return picture

    def _panel(self, frame: Picture, title: str) -> Picture:
        assert self._shown is not None
        plan = self._shown[1]
        fan = title != "carried out"
        left = self._fan(enlarged(frame), plan, lines=fan)
        chosen = int(plan.chosen[self.slot])
        totals = plan.scores.total[self.slot]
        told = f"{title}: future {chosen} of {len(totals)}, value {totals[chosen]:.1f}, worst {totals.min():.1f}"
        return column([row([left, bars(totals, chosen)]), caption(told, SIDE + 96)])

    def _fan(self, picture: Picture, plan: Plan, lines: bool) -> Picture:
        from PIL import Image, ImageDraw

        image = Image.fromarray(picture)
        draw = ImageDraw.Draw(image)
        seen, chosen = plan.scores.imagined, int(plan.chosen[self.slot])
        paths = self.contract.normalize_proprio(seen.proprio[self.slot])  # (K, n, 2)
        shades = _shades(plan.scores.total[self.slot])
        order = np.argsort(plan.scores.total[self.slot])
        for index in order if lines else []:
            _draw_path(draw, paths[index], tuple(shades[index]), 1)
        _draw_path(draw, paths[chosen], CHOSEN, 3)
        if seen.state is not None:
            ends = seen.state[self.slot, :, -1].reshape(len(paths), -1, 2)
            for index in order if lines else []:
                _draw_points(draw, ends[index], tuple(shades[index]), 1)
            _draw_points(draw, ends[chosen], CHOSEN, 3)
        return np.asarray(image)


def enlarged(frame: Picture, side: int = SIDE) -> Picture:
    """A frame as a panel."""
    from PIL import Image

    return np.asarray(Image.fromarray(frame).resize((side, side), Image.Resampling.LANCZOS))


def bars(totals: NDArray[np.float32], chosen: int, width: int = 96) -> Picture:
    """Scores as bars ``(SIDE, width, 3)``, the best on top, the chosen one dark."""
    picture = np.full((SIDE, width, 3), 255, np.uint8)
    order, low = np.argsort(-totals), float(totals.min())
    span = max(float(totals.max()) - low, 1e-9)
    height, shades = SIDE / len(totals), _shades(totals)
    for place, index in enumerate(order):
        top, bottom = round(place * height), max(round(place * height) + 1, round((place + 1) * height) - 1)
        length = round(6 + (width - 12) * (float(totals[index]) - low) / span)
        picture[top:bottom, 4 : 4 + length] = CHOSEN if index == chosen else shades[index]
    return picture


def _shades(totals: NDArray[np.float32]) -> NDArray[np.uint8]:
    """A colour for each score, from the worst to the best."""
    part = (totals - totals.min()) / max(float(np.ptp(totals)), 1e-9)
    mixed = np.array(WORST) + part[:, None] * (np.array(BEST) - np.array(WORST))
    return mixed.astype(np.uint8)


def _draw_path(draw: Any, places: NDArray[np.floating], colour: Sequence[int], width: int) -> None:
    draw.line([_pixel(place) for place in places], fill=tuple(map(int, colour)), width=width)


def _draw_points(draw: Any, points: NDArray[np.floating], colour: Sequence[int], width: int) -> None:
    """The triangle of the block's ends."""
    for first, second in _EDGES:
        draw.line([_pixel(points[first]), _pixel(points[second])], fill=tuple(map(int, colour)), width=width)


def _pixel(place: NDArray[np.floating]) -> tuple[float, float]:
    x, y = (np.asarray(place) + 1) / 2 * SIDE
    return float(x), float(y)
