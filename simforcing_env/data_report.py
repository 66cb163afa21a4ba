"""What is inside a recorded data set, for people and as JSON: the findings of ``simforcing data inspect``."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simforcing_env.pictures import Picture, caption, column, row
from world_model.data.readers.base import Numbers, Reader, View
from world_model.data.readers.contracts import Measured, fitted_contract
from world_model.data.readers.registry import Found, open_reader
from world_model.errors import DataError, SimforcingError

EPISODE = re.compile(r"^episode [^ :]+")
BARS = " ▁▂▃▄▅▆▇█"
BINS = 20
THUMB_HEIGHT = 96  # px
SHEET_WIDTH = 1600  # px
SHEET_FRAMES = 8
SHOWN = 6  # tasks and problems that are printed


@dataclass
class Report:
    """One data set. ``sheet`` is a contact sheet ``(H, W, 3)`` of the episodes whose pictures were read."""

    found: Found
    reader: Reader
    lengths: list[int] = field(default_factory=list)
    tasks: Counter[str] = field(default_factory=Counter)
    actions: list[dict[str, Any]] = field(default_factory=list)
    contract: dict[str, Any] = field(default_factory=dict)
    contract_hash: str = ""
    warnings: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    sheet: Picture | None = None
    pictured: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain values of all but the sheet."""
        reader = self.reader
        return {
            "path": str(self.found.path),
            "layout": self.found.layout,
            "episodes": len(reader),
            "splits": dict(Counter(reader.splits)),
            "episodes_read": len(self.lengths),
            "episodes_with_pictures_read": self.pictured,
            "frames_read": sum(self.lengths),
            "lengths": self.lengths,
            "frame_hz": reader.contract.frame_hz,
            "cameras": [dataclasses.asdict(camera) for camera in reader.contract.cameras],
            "tasks": dict(self.tasks),
            "actions": self.actions,
            "contract": self.contract,
            "contract_hash": self.contract_hash,
            "warnings": self.warnings,
            "problems": self.problems,
        }


def inspect_set(found: Found, episodes: int, pictured: int, progress: Callable[[str], None]) -> Report:
    """Read the numbers of the first ``episodes`` (0: of all) and the pictures of ``pictured`` spread over them.

    Episodes that cannot be read become problems of the report.

    Raises:
        DataError: the set as a whole cannot be opened.
    """
    reader = open_reader(found.path, found.layout)
    report = Report(found, reader)
    count = len(reader) if episodes == 0 else min(episodes, len(reader))
    read: list[Numbers] = []
    readable: list[int] = []
    for index in range(count):
        progress(f"numbers {index + 1}/{count}")
        try:
            numbers = reader.numbers(index)
        except SimforcingError as error:
            report.problems += dict.fromkeys([str(error), *reader.missing(index)])
            continue
        readable.append(index)
        read.append(numbers)
        report.lengths.append(len(numbers))
        report.tasks[numbers.task] += 1
    contract = reader.contract
    if readable:
        measured = Measured.of(read)
        values = np.concatenate(measured.actions)
        contract = fitted_contract(reader, measured)
        report.actions = [
            _histogram(dim.name, dim.unit, numbers) for dim, numbers in zip(contract.actions, values.T, strict=True)
        ]
    report.contract, report.contract_hash = dataclasses.asdict(contract), contract.hash
    seen = _look(report, readable, pictured, progress)
    report.warnings = [*reader.warnings, *(w for w in seen if w not in reader.warnings)]
    return report


def _look(report: Report, readable: list[int], pictured: int, progress: Callable[[str], None]) -> list[str]:
    """Read the pictures of some episodes, and make the sheet; gives the warnings that came up."""
    reader = report.reader
    if not reader.pictured or not readable or not pictured:
        return []
    first = reader.contract.cameras[0]
    height = min(THUMB_HEIGHT, first.height)
    small = open_reader(
        report.found.path, report.found.layout, View((height, max(1, round(height * first.width / first.height))))
    )
    chosen = sorted({readable[round(i)] for i in np.linspace(0, len(readable) - 1, min(pictured, len(readable)))})
    strips: list[Picture] = []
    for done, index in enumerate(chosen, 1):
        progress(f"pictures {done}/{len(chosen)}")
        try:
            episode = small[index]
        except DataError as error:
            report.problems.append(str(error))
            continue
        report.pictured += 1
        many = max(2, min(SHEET_FRAMES, SHEET_WIDTH // episode.frames.shape[2]))
        rows = np.unique(np.linspace(0, len(episode) - 1, many).round().astype(int))
        strip = row([episode.frames[i] for i in rows], gap=2)
        task = small.numbers(index).task
        text = f"{small.names[index]}: {len(episode)} frames, of which {', '.join(map(str, rows))}   {task}"
        strips += [caption(text, strip.shape[1]), strip]
    if strips:
        cameras = ", ".join(c.name for c in small.contract.cameras)
        head = caption(f"{report.found.layout} {report.found.path.name}; cameras: {cameras}", strips[1].shape[1])
        report.sheet = column([head, *strips], gap=2)
    return small.warnings


def _histogram(name: str, unit: str, values: NDArray[np.float32]) -> dict[str, Any]:
    if not len(values):
        return {"name": name, "unit": unit, "min": None, "max": None, "mean": None, "std": None, "histogram": []}
    low, high = float(values.min()), float(values.max())
    counts, _ = np.histogram(values, BINS, (low, high if high > low else low + 1))
    return {
        "name": name,
        "unit": unit,
        "min": low,
        "max": high,
        "mean": float(values.mean()),
        "std": float(values.std()),
        "histogram": counts.tolist(),
    }


def lines(report: Report) -> list[str]:
    """The report as text."""
    reader, contract = report.reader, report.reader.contract
    out = [f"{report.found.path}: layout {report.found.layout}, {len(reader)} episodes"]
    splits = Counter(split for split in reader.splits if split)
    if splits:
        out.append(f"  splits    {', '.join(f'{n} {split}' for split, n in splits.items())}")
    if report.lengths:
        low, middle, high = min(report.lengths), float(np.median(report.lengths)), max(report.lengths)
        read = f"{sum(report.lengths)} in {len(report.lengths)} episodes read"
        out.append(f"  frames    {read}: {low} to {high}, median {middle:g}")
    out.append(f"  rate      {contract.frame_hz:g} frames/s, {contract.actions_per_frame} action(s) a frame")
    if reader.pictured:
        cameras = ", ".join(f"{c.name} {c.width} x {c.height}" for c in contract.cameras)
        out.append(f"  cameras   {cameras}; pictures of {report.pictured} episodes read")
    else:
        out.append("  cameras   none")
    named = [f"{task or '(empty)'} ({n})" for task, n in report.tasks.most_common(SHOWN)]
    out.append(f"  tasks     {len(report.tasks)}: {'; '.join(named)}")
    out.append(
        f"  contract  {contract.name}, hash of the fitted one {report.contract_hash}, gripper {contract.gripper}"
    )
    out.append(f"  proprio   {', '.join(f'{d.name} {d.unit}'.strip() for d in contract.proprio)}")
    if report.actions:
        wide = max(len(a["name"]) for a in report.actions)
        out.append(f"  {'action':{wide}}  {'min':>10} {'mean':>10} {'max':>10}  from min to max")
        out += [f"  {a['name']:{wide}}  {_numbers(a)}  {bars(a['histogram'])}  {a['unit']}" for a in report.actions]
    out += [f"  warning   {warning}" for warning in folded(report.warnings)]
    out += [f"  PROBLEM   {problem}" for problem in report.problems[:SHOWN]]
    if len(report.problems) > SHOWN:
        out.append(f"  PROBLEM   and {len(report.problems) - SHOWN} more (--json lists them)")
    return out


def folded(warnings: list[str]) -> list[str]:
    """Warnings that differ by their episode alone as one, with the number of episodes."""
    alike: dict[str, list[str]] = {}
    for warning in warnings:
        alike.setdefault(EPISODE.sub("episode *", warning), []).append(warning)
    return [w[0] if len(w) == 1 else f"{w[0]} (and so in {len(w) - 1} more episodes)" for w in alike.values()]


def bars(counts: list[int]) -> str:
    """A histogram in one line; every bin that is not empty shows."""
    most = max(counts, default=0)
    return "".join(BARS[0 if not n else max(1, round(n / most * (len(BARS) - 1)))] for n in counts)


def _numbers(action: dict[str, Any]) -> str:
    values = (action[key] for key in ("min", "mean", "max"))
    return " ".join(f"{value:10.4g}" if value is not None else f"{'-':>10}" for value in values)


def sheet_of(reports: list[Report]) -> Picture | None:
    """The sheets of all sets on top of one another, or None where no pictures were read."""
    sheets = [report.sheet for report in reports if report.sheet is not None]
    return column(sheets, gap=6) if sheets else None
