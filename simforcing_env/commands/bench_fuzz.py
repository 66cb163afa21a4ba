"""Damage real files of every layout a thousand times each, and see what the readers make of them.

A damaged file must be read right or be refused by a sentence that names it, within 10 seconds and 2 GB; each is read
in a process of its own. Every outcome is a line of the ledger, so that a killed run goes on with the same command.
Beside the results file stands a table with a row for each sample.
"""

from __future__ import annotations

import csv
import io
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from simforcing_env.commands.checks import at_least, results_file, some
from world_model.errors import DataError

if TYPE_CHECKING:
    from world_model.data.readers.fuzz import Kind, Outcome

KINDS: tuple[Kind, ...] = ("same", "other", "clear", "unclear", "crash", "hang")
HEADING = ("sample", "layout", "mutations", *KINDS, "slowest, s", "most memory, MB")


@dataclass(frozen=True)
class Config:
    """How much to damage."""

    shared: Path | None = None
    """Folder of the real data; by default the one that SIMFORCING_SHARED_DATA names."""
    mutations: int = 1000
    """Of each sample; seeds 0 and up."""
    samples: tuple[str, ...] = ()
    """Names of the samples; all without it."""
    ledger: Path = Path("runs/reader-fuzz.jsonl")
    """One line for each outcome; what stands there already is not done again."""
    workers: int = 1
    """Processes at a time."""
    json: Path | None = None
    """Results file; the table stands beside it as .csv."""


def run(config: Config) -> None:
    """Print a row for each sample and every answer that is not clear; exit status 1 if there is one.

    Raises:
        DataError: the real data are not there, or the ledger is damaged.
        InputError: there is no such sample.
    """
    at_least(1, mutations=config.mutations, workers=config.workers)
    results_file(config.json)
    results_file(config.ledger, "--ledger")
    from simforcing_env.shared_data import shared_folder
    from world_model.data.readers.fuzz import Sample, from_line, fuzz, to_line
    from world_model.data.readers.samples import SAMPLES, make_sample
    from world_model.rules import refuse_unknown

    names = config.samples or tuple(SAMPLES)
    some(samples=names)
    refuse_unknown(names, SAMPLES, "sample")
    shared = shared_folder(config.shared)
    outcomes: dict[tuple[str, int], Outcome] = {}
    if config.ledger.exists():
        try:
            for line in config.ledger.read_text().splitlines():
                outcome = from_line(line)
                outcomes[outcome.sample, outcome.seed] = outcome
        except (ValueError, TypeError) as error:
            raise DataError(f"{config.ledger} holds a line that is no outcome ({error}); delete the file") from error
    _import_all()
    with tempfile.TemporaryDirectory() as place, config.ledger.open("a") as ledger:
        for name in names:
            (folder := Path(place) / name).mkdir()
            sample = Sample(name, make_sample(name, shared, folder), folder)
            missing = [seed for seed in range(config.mutations) if (name, seed) not in outcomes]
            for outcome in fuzz(sample, missing, config.workers):
                outcomes[outcome.sample, outcome.seed] = outcome
                ledger.write(f"{to_line(outcome)}\n")
                ledger.flush()
            _print(name, [outcomes[name, seed] for seed in range(config.mutations)])
    wanted = [outcomes[name, seed] for name in names for seed in range(config.mutations)]
    if config.json is not None:
        _write(config, names, wanted)
    if any(o.kind in ("unclear", "crash", "hang") for o in wanted):
        raise SystemExit(1)


def _import_all() -> None:
    """What readers import when they need it is imported once, before processes are forked."""
    import torch
    from PIL import Image

    from world_model.data.readers.registry import READERS, reader_class
    from world_model.data.readers.tfrecord import example_class, masked_crc
    from world_model.extras import require

    torch.set_num_threads(1)
    Image.init()
    require("h5py", "hdf5")
    masked_crc(b"")
    example_class()
    for layout in READERS:
        reader_class(layout)


def _print(name: str, outcomes: list[Outcome]) -> None:
    counts = Counter(outcome.kind for outcome in outcomes)
    print(f"{name:18} " + "  ".join(f"{kind} {counts[kind]}" for kind in KINDS if counts[kind]), flush=True)
    for outcome in outcomes:
        if outcome.kind in ("unclear", "crash", "hang"):
            place = f"seed {outcome.seed}, {outcome.file}, {outcome.mutation}"
            print(f"  {outcome.kind}: {place}: {outcome.text}", flush=True)


def _write(config: Config, names: tuple[str, ...], outcomes: list[Outcome]) -> None:
    from simforcing_env.evaluation.reporting import plain_provenance
    from world_model.atomic import replace_text
    from world_model.data.readers.samples import SAMPLES
    from world_model.results import Metric, write_results

    assert config.json is not None
    counts = Counter(outcome.kind for outcome in outcomes)
    total = len(outcomes)
    metrics = {
        "mutations": Metric(total, n=total),
        "unclear_errors": Metric(counts["unclear"] + counts["crash"], n=total),
        "crashes": Metric(counts["crash"], n=total),
        "hangs": Metric(counts["hang"], n=total),
        "clear_errors": Metric(counts["clear"], n=total),
        "read_same": Metric(counts["same"], n=total),
        "read_other": Metric(counts["other"], n=total),
        "samples": Metric(len(names)),
        "slowest_s": Metric(max(o.seconds for o in outcomes), n=total, unit="s"),
        "most_memory_mb": Metric(max(o.memory_mb for o in outcomes), n=total, unit="MB"),
    }
    write_results(config.json, metrics=metrics, **plain_provenance([0, config.mutations - 1]))
    text = io.StringIO(newline="")
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow(HEADING)
    for name in names:
        own = [o for o in outcomes if o.sample == name]
        kinds = Counter(o.kind for o in own)
        slowest, memory = max(o.seconds for o in own), max(o.memory_mb for o in own)
        rows.writerow([name, SAMPLES[name][0], len(own), *(kinds[k] for k in KINDS), f"{slowest:.2f}", f"{memory:.0f}"])
    replace_text(config.json.with_suffix(".csv"), text.getvalue())
