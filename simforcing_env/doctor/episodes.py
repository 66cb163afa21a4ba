"""All checks of episodes, recorded or generated."""

from __future__ import annotations

from collections.abc import Sequence

from simforcing_env.doctor.alignment import check_alignment
from simforcing_env.doctor.finding import Finding, faults
from simforcing_env.doctor.images import check_images
from simforcing_env.doctor.ranges import check_ranges
from world_model.contract import Contract
from world_model.data.episode import Episode


def check_episodes(episodes: Sequence[Episode], contract: Contract) -> list[Finding]:
    """Ranges, image orientation, frame and action shifts, action signs of at least one episode."""
    findings = check_ranges(episodes, contract)
    if "proprio range" in faults(findings):
        return findings  # every further check reads the proprio
    return [*findings, *check_images(episodes, contract), *check_alignment(episodes, contract)]
