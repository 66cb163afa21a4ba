"""What the studies have in common: where their runs go, how often and how long each is trained, and how they end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from simforcing_env.commands.checks import above, at_least, results_file, some

if TYPE_CHECKING:
    from world_model.results import Metric


def trained_precision(overrides: Sequence[str]) -> str:
    """Of trainings on the processor: what the overrides of their recipe ask for, or what it computes in."""
    from world_model.runtime import native_precision

    asked = dict(word.split("=", 1) for word in overrides).get("train.precision", "auto")
    return {"no": "float32", "bf16": "bfloat16"}.get(asked) or native_precision("cpu")


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """Options of every study that trains with several seeds."""

    out: Path
    """Folder for the runs; a killed study goes on in it with the same command, and its parts may run side by side."""
    seeds: tuple[int, ...] = (0, 1, 2)
    """Of first weights, data order and noise: one training for each."""
    set: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """Override of every recipe, e.g. ``--set train.batch=4``."""
    json: Path | None = None
    """Results file; tables and pictures go beside it."""
    threads: int = 1
    """CPU threads."""

    def begin(self) -> None:
        """Refuse what cannot be, and set the threads."""
        import torch

        at_least(1, threads=self.threads)
        at_least(0, seeds=self.seeds)
        some(seeds=self.seeds)
        results_file(self.json)
        torch.set_num_threads(self.threads)

    def finish(
        self,
        metrics: Mapping[str, Metric],
        contract: str | None,
        sampler_steps: int | None,
        seeds: Sequence[int] | None = None,
        **notes: Any,
    ) -> None:
        """Write the results file, where one is wanted; no checkpoint takes part. ``seeds`` are the study's unless more
        stand behind the metrics."""
        from simforcing_env.evaluation.reporting import plain_provenance
        from world_model.results import write_results

        if self.json is None:
            return
        told = plain_provenance(
            seeds or self.seeds, contract, precision=trained_precision(self.set), sampler_steps=sampler_steps
        )
        write_results(self.json, metrics=metrics, notes=notes or None, **told)
        print(f"written: {self.json}")


@dataclass(frozen=True, kw_only=True)
class TimedStudyOptions(StudyOptions):
    """Options of those in which every training has the same processor time."""

    held_out: Path
    """Folder with the validation split, or validation pairs."""
    cpu_minutes: float = 20.0
    """Processor time of each training."""

    def begin(self) -> None:
        above(0, cpu_minutes=self.cpu_minutes)
        super().begin()
