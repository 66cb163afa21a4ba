"""Every subcommand of ``simforcing``: where it lives and what it is for. Nothing is imported until it is chosen.

A command is a module with a frozen dataclass ``Config``, a docstring under each field (shown by
``--help``), and ``run(config) -> None``. Register it with one line below.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Command:
    """One subcommand; ``summary`` is its line in ``simforcing --help``."""

    module: str
    summary: str
    config: str = "Config"
    function: str = "run"


COMMANDS = MappingProxyType(
    {
        "collect": Command("simforcing_env.commands.collect", "record a data set from a true simulator"),
        "pairs": Command("simforcing_env.commands.pairs", "play a data set again in the other domain of its world"),
        "pairs droid": Command(
            "simforcing_env.commands.pairs_droid", "real Franka episodes beside the same joints in MuJoCo"
        ),
        "data inspect": Command("simforcing_env.commands.data_inspect", "show what recorded data hold"),
        "data convert": Command("simforcing_env.commands.data_convert", "write recorded data in another layout"),
        "data import": Command("simforcing_env.commands.data_import", "make a data set of HDF5 demonstrations"),
        "data export": Command("simforcing_env.commands.data_export", "write a LIBERO data set as HDF5"),
        "train": Command("simforcing_env.commands.train", "train a world model on a data set"),
        "train heads": Command(
            "simforcing_env.commands.train_heads", "train the reward and success heads of a world model on a data set"
        ),
        "train reader": Command(
            "simforcing_env.commands.train_reader", "train the Push-T pose reader that evaluations measure with"
        ),
        "pack": Command("simforcing_env.commands.pack", "make a trained checkpoint ready to ship"),
        "study": Command("simforcing_env.commands.study", "compare model forms at equal training time"),
        "study irasim": Command(
            "simforcing_env.commands.study_irasim", "IRASim and its baselines at equal size and training time"
        ),
        "study scaling": Command(
            "simforcing_env.commands.study_scaling", "IRASim in four small sizes by training compute"
        ),
        "study robots": Command(
            "simforcing_env.commands.study_robots", "IRASim on recordings of real robots: seen and held-out episodes"
        ),
        "study simforcing": Command(
            "simforcing_env.commands.study_simforcing", "SimForcing's arms on pairs at equal training time"
        ),
        "study planning": Command(
            "simforcing_env.commands.study_planning", "planning by K futures and P rollouts, from policies to the table"
        ),
        "evaluate video": Command(
            "simforcing_env.commands.evaluate_video", "hold generated frames against held-out true episodes"
        ),
        "evaluate short": Command(
            "simforcing_env.commands.evaluate_short", "IRASim's short protocol, action following and action recovery"
        ),
        "evaluate long": Command(
            "simforcing_env.commands.evaluate_long", "IRASim's long protocol: whole episodes, chunk after chunk"
        ),
        "evaluate report": Command(
            "simforcing_env.commands.evaluate_report", "one web page of results, curves, films and error maps"
        ),
        "evaluate twin": Command(
            "simforcing_env.commands.evaluate_twin", "how far the two simulators of Push-T part under the same actions"
        ),
        "evaluate coverage": Command(
            "simforcing_env.commands.evaluate_coverage", "hold predicted coverage against the true simulator's"
        ),
        "evaluate calibration": Command(
            "simforcing_env.commands.evaluate_calibration", "how far the success probability can be trusted"
        ),
        "evaluate openloop": Command(
            "simforcing_env.commands.evaluate_openloop", "replay whole episodes: do they end as they did in truth"
        ),
        "bench env": Command("simforcing_env.commands.bench_env", "frames per second of the learned environment"),
        "bench codec": Command("simforcing_env.commands.bench_codec", "quality, speed and size of the codecs"),
        "bench look": Command("simforcing_env.commands.bench_look", "LIBERO's fast look against the stock one"),
        "bench fuzz": Command(
            "simforcing_env.commands.bench_fuzz", "damaged files of every layout against the readers"
        ),
        "bench kill": Command("simforcing_env.commands.bench_kill", "kill recording and training; is anything lost?"),
        "compare": Command(
            "simforcing_env.commands.compare",
            "run policies in a learned environment and in its teacher: do scores agree",
        ),
        "compare ppi": Command(
            "simforcing_env.commands.compare_ppi", "what many imagined episodes add to a few true ones"
        ),
        "compare episodes": Command(
            "simforcing_env.commands.compare_episodes", "how many episodes it takes to tell policies apart"
        ),
        "gate": Command("simforcing_env.commands.gate", "does a new checkpoint rank the reference policies rightly"),
        "policy serve": Command("simforcing_env.commands.policy_serve", "run a policy for a simulator elsewhere"),
        "bench params": Command("simforcing_env.commands.bench_params", "parameters of the published model sizes"),
        "bench trainstep": Command(
            "simforcing_env.commands.bench_trainstep", "a training step of IRASim beside the published operations"
        ),
        "bench simforcing": Command(
            "simforcing_env.commands.bench_simforcing", "passes, seconds, memory and operations of SimForcing's modes"
        ),
        "convert irasim": Command(
            "simforcing_env.commands.convert_irasim", "a published checkpoint of IRASim, VDM or LVDM to one of ours"
        ),
        "plan": Command("simforcing_env.commands.plan", "plan with K imagined futures, act in the true simulator"),
        "plan ranking": Command(
            "simforcing_env.commands.plan_ranking", "hold the predicted values of candidates against the true ones"
        ),
        "posttrain": Command("simforcing_env.commands.posttrain", "train a world model on with a policy's rollouts"),
        "policy record": Command("simforcing_env.commands.policy_record", "record what a policy does as a data set"),
        "policy train": Command("simforcing_env.commands.policy_train", "train a diffusion policy on demonstrations"),
        "experts": Command("simforcing_env.commands.experts", "how often the scripted LIBERO experts succeed"),
        "doctor": Command("simforcing_env.commands.doctor", "check this machine, a data set or a checkpoint"),
        "tables": Command(
            "simforcing_env.commands.tables",
            "write the tables of README.md and results/README.md from the results files",
        ),
    }
)
"""Name (one or two words) to command."""
