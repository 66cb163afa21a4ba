"""How well a learned simulator ranks candidate plans: the values it predicts against those in the true simulator.

Moments come from episodes of the policy in the true simulator. For each the policy proposes K chunks; what follows is
imagined as plans imagine it, and carried out in copies of the true simulator under the same noise. Printed and written:
correlation over candidates; regret of the one that would be chosen, beside that without the penalty for doubt and that
of a blind choice; what common random numbers do to the regret and to the variance of differences; whether the error
that the model expects of itself is the one it makes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from simforcing_env.commands.checks import at_least, results_file
from simforcing_env.commands.plan import Look

if TYPE_CHECKING:
    import numpy as np

    from simforcing_env.planning.ranking import Numbers, Ranking
    from world_model.results import Metric


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing plan ranking``."""

    policy: Path
    """Folder of a diffusion policy for Push-T."""
    checkpoint: str = "pusht-nano"
    """Folder, packaged name or hub id of the learned simulator."""
    value: Literal["points", "coverage", "iou", "success"] = "points"
    """What is compared; "points" is minus a distance in px, the others are what heads say."""
    pictures: bool = False
    """Draw all imagined frames, as heads of frames need it; otherwise the state is foreseen."""
    look: Look = field(default_factory=Look)
    """How far candidates are imagined, and how their ends are weighed."""
    k: int = 16
    """Candidates of a moment."""
    episodes: int = 10
    """Episodes, from the first start of the split on."""
    moments: int = 4
    """Moments of each episode."""
    every: int = 3
    """Plans between two moments."""
    repeats: int = 4
    """Noises under which predictions are made again."""
    execute: int = 8
    """Actions that the policy carries out before it is asked again."""
    split: Literal["validation", "test"] = "validation"
    """Starts."""
    seed: int = 0
    """Of the policy's and the imagined noise."""
    json: Path | None = None
    """Results file; a table of all candidates as CSV goes beside it."""
    threads: int = 1
    """CPU threads."""


def run(config: Config) -> None:
    """Roll, rank, print, write."""
    import numpy as np
    import torch

    from simforcing_env.evaluation.loading import open_simulator
    from simforcing_env.evaluation.progress import counting
    from simforcing_env.evaluation.reporting import plain_provenance, report
    from simforcing_env.planning.arena import Arena
    from simforcing_env.planning.model_world import imagination
    from simforcing_env.planning.ranking import joined, rank_moments
    from simforcing_env.planning.scoring import ScoreConfig
    from simforcing_env.planning.trials import seed_of
    from simforcing_env.planning.values import make_value
    from simforcing_env.policies.diffusion import load_diffusion

    at_least(2, k=config.k, repeats=config.repeats)
    at_least(1, look__length=config.look.length, episodes=config.episodes, moments=config.moments, every=config.every)
    at_least(1, execute=config.execute, threads=config.threads)
    at_least(0, seed=config.seed, look__continuations=config.look.continuations)
    results_file(config.json)
    torch.set_num_threads(config.threads)
    arena = Arena.of("SimForcing/PushT-v0")
    policy, simulator = load_diffusion(config.policy), open_simulator(config.checkpoint)
    simulator.contract.require_same(policy.contract, "the checkpoint", "the policy")
    imagine, value = imagination(simulator, config.pictures), make_value(config.value)
    look, habits = config.look, arena.habits
    far = habits.continuations if look.continuations is None else look.continuations
    score = ScoreConfig(look.length, far, look.samples, look.penalty, habits.last)
    names = arena.starts(config.split, config.episodes, config.episodes)
    seeds = [seed_of(config.seed, name) for name in names]
    env = arena.env(policy.contract, len(names), config.execute)
    observation, _ = env.reset(seed=seeds, options={"start": names})
    policy.reset(seeds)
    parts = []
    with counting("ranking moments", config.moments) as step:
        for number in range(config.moments):
            for _ in range(config.every):
                observation, *_ = env.step(policy.act(observation)[:, : config.execute])
            noise = [seed + 1000 * number for seed in seeds]
            sizes = config.k, score, config.repeats
            parts.append(rank_moments(env, policy, imagine, value, observation, noise, *sizes, habits.state))
            step(number + 1)
    told = plain_provenance(
        [config.seed, config.split],
        simulator.contract.hash,
        checkpoint=simulator.hash,
        sampler_steps=simulator.sampler.steps,
    )
    ranking = joined(parts)
    metrics = _metrics(ranking, "px" if config.value == "points" else "share", np.random.default_rng(config.seed))
    columns = ranking.predicted, ranking.value, ranking.doubt, ranking.true
    rows = [
        [moment, candidate, *(f"{column[moment, candidate]:.4f}" for column in columns)]
        for moment, candidate in np.ndindex(*ranking.true.shape)
    ]
    report(config.json, metrics, told, ["moment", "candidate", "predicted", "value", "doubt", "true"], rows)


def _metrics(ranking: Ranking, unit: str, generator: np.random.Generator) -> dict[str, Metric]:
    import numpy as np
    from scipy.stats import spearmanr

    from world_model.results import Metric

    def regret(many: Numbers) -> Metric:
        """Mean over repeated predictions, interval over moments."""
        each = np.mean([ranking.regret_of(many[:, number]) for number in range(many.shape[1])], axis=0)
        return Metric.mean(each, generator, unit)

    n = len(ranking.true)
    error, doubt = ranking.error, ranking.doubt
    metrics = {"pearson": Metric.mean(ranking.pearson, generator)} if len(ranking.pearson) else {}
    both = ranking.predicted.ravel(), ranking.true.ravel()
    if min(part.std() for part in both) > 1e-9:
        metrics["pearson_all"] = Metric(float(np.corrcoef(*both)[0, 1]), n=n)
    metrics |= {
        "regret": Metric.mean(ranking.regret, generator, unit),
        "regret_no_penalty": Metric.mean(ranking.regret_of(ranking.value), generator, unit),
        "regret_blind": Metric.mean(ranking.chance_regret, generator, unit),
        "regret_shared_noise": regret(ranking.shared),
        "regret_own_noise": regret(ranking.own),
        "crn_variance_ratio": Metric(ranking.variance_ratio(), n=n),
        "value_error": Metric.mean(error.mean(1), generator, unit),
        "value_error_rms": Metric(float(np.sqrt(np.square(error).mean())), n=n, unit=unit),
        "doubt_rms": Metric(float(np.sqrt(np.square(doubt).mean())), n=n, unit=unit),
    }
    if np.ptp(doubt) > 0:
        metrics["doubt_spearman"] = Metric(float(spearmanr(doubt.ravel(), error.ravel())[0]), n=n)
    return metrics
