"""Count the parameters of the published sizes, built on the meta device: no memory, no weights.

VDM is counted as the released code builds it; the paper prints 40 M, which could not be made of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simforcing_env.commands.checks import results_file


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing bench params``."""

    json: Path | None = None
    """Results file."""


def run(config: Config) -> None:
    """Build, count, print, write."""
    import torch

    from simforcing_env.evaluation.reporting import plain_provenance
    from world_model.models.irasim import SIZES, Irasim, irasim
    from world_model.models.video_unet import VideoUNet, lvdm, vdm
    from world_model.results import Metric, write_results

    results_file(config.json)
    with torch.device("meta"):
        models = {size: Irasim(irasim(size)) for size in SIZES} | {
            "VDM": VideoUNet(vdm()),
            "LVDM": VideoUNet(lvdm()),
        }
    counts = {name: sum(p.numel() for p in model.parameters()) / 1e6 for name, model in models.items()}
    print("\n".join(f"{name:5} {count:8.2f} M" for name, count in counts.items()))
    if config.json is not None:
        metrics = {name: Metric(round(count, 4), n=1, unit="million") for name, count in counts.items()}
        write_results(config.json, metrics=metrics, **plain_provenance([], device="meta"))
