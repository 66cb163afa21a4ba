"""Does a new checkpoint still rank the reference policies as the truth does? Exit status 1 if not.

The reference is a results file of ``simforcing compare`` with its ledger and protocol beside it. Its true episodes
stand; the policies are made again from their names and run in the new checkpoint from the same starts. An interrupted
run goes on from its ledger.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from simforcing_env.commands.checks import at_least, results_file, share


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing gate``."""

    checkpoint: str
    """The new one: folder, packaged name or hub id."""
    against: Path
    """Results file of the comparison that is the reference."""
    episodes: int = 0
    """Starts of each policy, the first ones of the reference; 0 for all."""
    spearman: float = 0.9
    """Least rank correlation of learned and true scores."""
    mmrv: float = 0.05
    """Largest mean maximum rank violation."""
    device: str = "auto"
    """auto, cpu or cuda."""
    json: Path = Path("gate.json")
    """Results; the ledger goes beside it."""
    threads: int = 1
    """CPU threads."""


def run(config: Config) -> None:
    """Run, print, write, and leave with the verdict."""
    import torch

    from simforcing_env.evaluation.comparison.gate import judge, protocol_for, reference_policies
    from simforcing_env.evaluation.comparison.outcome import read_outcomes
    from simforcing_env.evaluation.comparison.protocol import read_protocol
    from simforcing_env.evaluation.comparison.running import Worlds, run_comparison
    from simforcing_env.evaluation.loading import open_simulator
    from simforcing_env.evaluation.progress import counting
    from simforcing_env.evaluation.reporting import print_metrics
    from world_model.results import describe_device, this_command, write_results
    from world_model.runtime import resolve_device

    at_least(0, episodes=config.episodes)
    at_least(1, threads=config.threads)
    share(mmrv=config.mmrv)
    results_file(config.json)
    torch.set_num_threads(config.threads)
    reference = read_protocol(config.against.with_suffix(".protocol.json"))
    recorded = read_outcomes(config.against.with_suffix(".ledger.jsonl"), reference.hash)
    true = {key: outcome for key, outcome in recorded.items() if key[0] != "learned"}
    device = resolve_device(config.device)
    simulator = open_simulator(config.checkpoint, device)
    protocol = protocol_for(reference, simulator)
    policies, lost = reference_policies(true, simulator.contract)
    for name in lost:
        print(f"left out, because it cannot be made again from its name: {name}")
    starts = list(dict.fromkeys(key[2] for key in true))
    starts = starts[: config.episodes or len(starts)]
    worlds = Worlds(protocol, simulator, device)
    with counting("batches", len(policies) * -(-len(starts) // protocol.batch)) as step:
        ledger = config.json.with_suffix(".ledger.jsonl")
        learned = run_comparison(worlds, policies, starts, ledger, step=step, sides=("learned",))
    worlds.close()
    asked = {key: outcome for key, outcome in true.items() if key[2] in set(starts)}
    verdict = judge(asked | learned, config.spearman, config.mmrv)
    print_metrics(verdict.metrics)
    write_results(
        config.json,
        command=this_command(),
        checkpoint=protocol.checkpoint,
        contract=protocol.contract,
        device=describe_device(device, protocol.precision),
        sampler_steps=protocol.sampler_steps,
        seeds=[protocol.seed],
        metrics=verdict.metrics,
    )
    for sentence in verdict.broken:
        print(f"broken: {sentence}")
    print("the ranking holds" if not verdict.broken else "the ranking does not hold")
    if verdict.broken:
        raise SystemExit(1)
