"""Write the tables of Markdown files from the results files that they name.

A table stands between `<!-- tables: results/pusht-*.json -->` and `<!-- end of tables -->`; the pattern is
relative to the Markdown file and may name results files (JSON) or plain tables (CSV). Names of metrics after it choose
rows, without the command: `<!-- tables: results/pusht-video.json psnr_h16 -->`.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simforcing_env.commands.table_labels_by_file import label
from world_model.atomic import replace_text
from world_model.errors import DataError, InputError
from world_model.results import Metric, read_results

BLOCK = re.compile(
    r"(<!-- tables: (?P<pattern>\S+)(?P<names>(?: \S+)*) -->\n).*?(?P<end><!-- end of tables -->)", re.DOTALL
)


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing tables``."""

    files: tuple[Path, ...] = (Path("README.md"), Path("results/README.md"))
    """Markdown files whose tables are written."""
    check: bool = False
    """Change nothing; end with status 1 when a file is out of date."""


def run(config: Config) -> None:
    """Rewrite the tables of files, or check them.

    Raises:
        InputError: a file does not exist or holds no table markers, or a table asks for a metric that is not there.
        DataError: a results file is damaged.
    """
    for file in config.files:
        if not file.is_file():
            raise InputError(f"there is no file {file}; run simforcing tables in the repository's folder")
    made = {file: (old := file.read_text(encoding="utf-8"), fill(old, file.parent)) for file in config.files}
    behind = [file for file, (old, new) in made.items() if new != old]
    if config.check and behind:
        print(f"{behind[0]} is out of date; run: simforcing tables --files {' '.join(map(str, behind))}")
        raise SystemExit(1)
    for file in behind:
        replace_text(file, made[file][1])
    for file in config.files:
        print(f"{file} {'is written' if file in behind else 'is up to date'}")


def fill(text: str, folder: Path) -> str:
    """``text`` with the tables between its markers made anew from the files under ``folder``."""
    if not BLOCK.search(text):
        raise InputError(
            "the file has no table markers; put '<!-- tables: results/*.json -->' and '<!-- end of tables -->' "
            "on lines of their own"
        )
    return BLOCK.sub(
        lambda block: f"{block[1]}{_tables(block['pattern'], block['names'].split(), folder)}{block['end']}", text
    )


def _tables(pattern: str, names: list[str], folder: Path) -> str:
    paths = sorted(folder.glob(pattern))
    if not paths:
        return "Not measured yet.\n"
    return "\n".join(
        _csv_table(path, folder) if path.suffix == ".csv" else _results_table(path, names, folder) for path in paths
    )


def _results_table(path: Path, names: list[str], folder: Path) -> str:
    """All metrics, or those of ``names``."""
    record = read_results(path)
    metrics: dict[str, Metric] = record["metrics"]
    absent = [name for name in names if name not in metrics]
    if absent:
        raise InputError(
            f"a table asks for {absent[0]!r} of {path} but it is not there; name one of {', '.join(metrics)}"
        )
    metrics = {name: metrics[name] for name in names} if names else metrics
    rows = [["", "value", "95 % interval", "n"]]
    for name, metric in metrics.items():
        interval = "" if metric.low is None or metric.high is None else f"{show(metric.low)} to {show(metric.high)}"
        value = f"{show(metric.value)} {metric.unit}".strip()
        rows.append([label(path.stem, name) or f"`{name}`", value, interval, "" if metric.n is None else str(metric.n)])
    return _framed(_markdown(rows), record, path, folder, command=not names)


def _framed(table: str, record: dict[str, Any], path: Path, folder: Path, command: bool = True) -> str:
    """A table between the command that measured it and where it came from."""
    source = f"[{path.name}]({path.relative_to(folder).as_posix()})"
    head = f"`{record['command']}`\n\n" if command else ""
    return f"{head}{table}\n{source}: {_provenance(record)}.\n"


def _provenance(record: dict[str, Any]) -> str:
    device = record["device"]
    facts = [f"checkpoint {record['checkpoint']}" if record["checkpoint"] else "no checkpoint"]
    if record["sampler_steps"] is not None:
        facts.append(f"{record['sampler_steps']} sampler step{'s' if record['sampler_steps'] != 1 else ''}")
    facts.append(f"seeds {_seeds(record['seeds'])}")
    threads = device.get("threads")
    facts.append(
        f"{device.get('processor', 'unknown processor')}, {threads} thread{'s' if threads != 1 else ''}, "
        f"{device.get('dtype', 'unknown dtype')}"
    )
    return "; ".join(facts)


def _seeds(seeds: list[Any]) -> str:
    if not seeds:
        return "none"
    if len(seeds) > 4:
        return f"{seeds[0]} to {seeds[-1]} ({len(seeds)})"
    return ", ".join(map(str, seeds))


def _csv_table(path: Path, folder: Path) -> str:
    """A plain table; framed where the results file that it was written with stands beside it."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    if len(rows) < 2 or any(len(row) != len(rows[0]) for row in rows):
        raise DataError(f"{path} is not a table with a heading and rows of equal length; write it again")
    measured = path.with_suffix(".json")
    return _framed(_markdown(rows), read_results(measured), path, folder) if measured.is_file() else _markdown(rows)


def _markdown(rows: list[list[str]]) -> str:
    """Rows (the first is the heading) as a Markdown table; columns after the first are set to the right."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    rule = ["---"] + ["---:"] * (len(rows[0]) - 1)
    return "".join(f"| {' | '.join(row)} |\n" for row in [cells[0], rule, *cells[1:]])


def show(value: float) -> str:
    """A number to about three significant digits, never in scientific form above 0.001."""
    if float(value).is_integer() and abs(value) < 1e6:
        return str(int(value))
    size = abs(value)
    if size >= 100:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return f"{value:.3f}" if size >= 1e-3 else f"{value:.1e}"
