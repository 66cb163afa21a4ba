"""Options that the published protocols share; light, so that ``--help`` is quick."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simforcing_env.evaluation.options import EvaluationOptions


@dataclass(frozen=True)
class ProtocolOptions(EvaluationOptions):
    """As every evaluation, on whole held-out episodes."""

    episodes: int = 50
    """Episodes to use, the first ones; 0 for all of a data set."""
    also: tuple[Path, ...] = ()
    """Further data sets whose episodes come after those of --dataset, such as val and test of few recordings."""
    guidance: float | None = None
    """How strongly frames follow the actions: 1 as published, more beyond what training showed; for models that were
    trained with actions left out now and then. By default the checkpoint's."""
    download: bool = False
    """Ask the hub for networks of FID and FVD that are not on this machine; without it such a metric is missing."""
