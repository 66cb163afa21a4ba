"""How far the block of Push-T in MuJoCo (`sim`) parts from gym-pusht's (`real`) under the same actions.

Distances are means over the block's corners, in px of the 512 px wide table, of episodes in which it has been pushed by
then.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from simforcing_env.commands.checks import at_least, extras, results_file

FRAMES = (16, 64)


@dataclass(frozen=True)
class Config:
    """What to measure, and where to write it."""

    json: Path | None = None
    """Results file."""
    episodes: int = 400
    """Episodes of the recorder's usual mixture."""
    split: Literal["train", "validation", "test"] = "validation"
    """Which starts to use; the twin's physics was tuned on training starts."""
    seed: int = 0
    """Another seed gives other episodes of the same split."""
    friction: float = 0.0
    """Friction of pusher and block in MuJoCo; gym-pusht has none, and with it the domains part."""


def run(config: Config) -> None:
    """Play both domains and print the distances."""
    extras("pusht-mujoco")
    at_least(1, episodes=config.episodes)
    at_least(0, seed=config.seed, friction=config.friction)
    if config.json is not None:
        results_file(config.json)
    import numpy as np

    from simforcing_env.evaluation.reporting import teacher_provenance
    from teachers.pusht.contract import pusht_contract
    from teachers.pusht.mujoco_world import TablePhysics
    from teachers.pusht.parting import MOVED, parting
    from world_model.results import Metric, write_results

    physics = TablePhysics(friction=config.friction)
    found = parting(config.episodes, FRAMES, config.split, config.seed, physics)
    metrics: dict[str, Metric] = {}
    for at, frame in enumerate(FRAMES):
        pushed = found.way[:, at] > MOVED  # False for an episode that is over
        apart, way = found.apart[pushed, at], found.way[pushed, at]
        if len(apart):
            metrics |= {
                f"apart_px_median_h{frame}": Metric(float(np.median(apart)), n=len(apart), unit="px"),
                f"apart_px_h{frame}": Metric.mean(apart, np.random.default_rng(0), "px"),
                f"apart_px_p90_h{frame}": Metric(float(np.quantile(apart, 0.9)), n=len(apart), unit="px"),
                f"within_1px_h{frame}": Metric.rate(int((apart < 1).sum()), len(apart), "share"),
                f"way_px_h{frame}": Metric.mean(way, np.random.default_rng(0), "px"),
            }
    for name, metric in metrics.items():
        print(f"{name}: {metric.value:.3f} {metric.unit} (n {metric.n})")
    if config.json is not None:
        write_results(config.json, metrics=metrics, **teacher_provenance(pusht_contract(), [config.seed]))
