"""The table of SimForcing's study: a row for each arm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from world_model.results import Metric
from world_model.simforcing.study import ARMS

HEADING = (
    "arm",
    "PSNR, dB",
    "95 %",
    "SSIM",
    "LPIPS",
    "latent L2",
    "lost by wrong actions, dB",
    "guidance",
    "w = 0, dB",
    "w = 0.3",
    "w = 0.6",
    "w = 1",
    "true simulator, dB",
    "25 % corrupted",
    "50 %",
    "75 %",
    "100 %",
    "of another episode",
)
_TOLD = ("w0", "w03", "w06", "w1", *(f"true_corrupted_{part}" for part in (0, 25, 50, 75, 100)), "true_wrong")


def rows(arms: Sequence[str], metrics: Mapping[str, Metric]) -> list[list[str]]:
    """Cells under `HEADING`; what an arm has not been measured for is left empty."""

    def cell(name: str, digits: int = 2) -> str:
        return f"{metrics[name].value:.{digits}f}" if name in metrics else ""

    table = []
    for arm in arms:
        psnr = metrics[f"psnr_{arm}"]
        low, high = (psnr.value if x is None else x for x in (psnr.low, psnr.high))
        line = [f"{arm}: {ARMS[arm].title}", cell(f"psnr_{arm}"), f"{low:.2f} to {high:.2f}"]
        line += [cell(f"{name}_{arm}", 3) for name in ("ssim", "lpips", "latent_l2")]
        line += [cell(f"follow_{arm}"), cell(f"best_{arm}", 1)]
        table.append([*line, *(cell(f"psnr_{arm}_{told}") for told in _TOLD)])
    return table
