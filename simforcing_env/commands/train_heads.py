"""Train the reward and success heads of a checkpoint on true frames, and calibrate them on held-out ones.

The heads read the latents of the checkpoint's codec, or the model's own state. Frames near the goal are drawn often;
for Push-T further scenes near the goal come from the true renderer. Below ten minutes on one core.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from simforcing_env.commands.checks import above, at_least, share
from simforcing_env.evaluation.scene_config import SceneMix
from world_model.errors import InputError
from world_model.training.head_config import HeadTraining

if TYPE_CHECKING:
    from world_model.data.episode import Episode
    from world_model.heads.examples import Examples
    from world_model.rollout import Rollout

_SCENES = {"pusht": 30_000}


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing train heads``."""

    checkpoint: str
    """Folder, packaged name or hub id whose codec or state the heads read; any heads that it has are replaced."""
    dataset: Path
    """LeRobot v3.0 folder of the training split, failures included."""
    held_out: Path
    """Folder of the validation split, for the temperatures and the printed errors."""
    out: Path
    """Folder for the checkpoint with its heads; may be that of ``checkpoint``."""
    judge: Literal["frames", "state"] = "frames"
    """What the heads read: latents of frames, or the key points that a model of form e carries."""
    generated_clips: int = 0
    """Clips that the checkpoint's own model generates from training episodes, so that the heads know its frames too."""
    generated_frames: int = 16
    """Frames of each such clip."""
    scenes: int | None = None
    """Scenes drawn by the true renderer on top of the data set; by default 30,000 for Push-T and none elsewhere."""
    mix: SceneMix = field(
        default_factory=lambda: SceneMix(
            near=0.9, near_spreads=(1.0, 2.0, 4.0, 8.0, 16.0, 40.0), smeared=0.2, smear=4.0, other_goal=0.0
        )
    )
    training: HeadTraining = field(default_factory=HeadTraining)
    seed: int = 0
    """Of the drawn scenes, the first weights and the order of frames."""
    threads: int = 1
    """CPU threads; more than the free cores makes training many times slower."""


def run(config: Config) -> None:
    """Read, draw, train, calibrate, print the errors on held-out frames, save."""
    import numpy as np
    import torch

    from simforcing_env.evaluation.head_report import head_errors
    from simforcing_env.evaluation.loading import ROWS, open_simulator, rollout_of
    from simforcing_env.evaluation.progress import spending
    from world_model.canvas import canvas_shape
    from world_model.checkpoint import check_place
    from world_model.data.lerobot.reader import read_dataset
    from world_model.heads import OutcomeConfig, OutcomeHeads, StateHeadConfig, StateHeads
    from world_model.heads.calibrate import calibrate
    from world_model.heads.examples import Examples, recorded_examples
    from world_model.heads.training import train_heads
    from world_model.runtime import Runtime

    plan = config.training
    at_least(1, threads=config.threads, generated_frames=config.generated_frames)
    at_least(0, generated_clips=config.generated_clips, scenes=config.scenes or 0, seed=config.seed)
    at_least(1, training__batch=plan.batch, training__steps=plan.steps)
    above(0, training__minutes=plan.minutes, training__learning_rate=plan.learning_rate)
    share(training__spoiled=plan.spoiled)
    check_place(config.out)
    torch.set_num_threads(config.threads)
    simulator = open_simulator(config.checkpoint)
    contract = simulator.contract
    drawn = 0 if config.judge == "state" else _SCENES.get(contract.name, 0)
    scenes = drawn if config.scenes is None else config.scenes
    if scenes and not drawn:
        raise InputError(
            f"--scenes {scenes} are drawn for {', '.join(_SCENES)} and --judge frames only, not for {contract.name} "
            f"and {config.judge}; leave it"
        )
    rollout, states = rollout_of(simulator, Runtime.choose("cpu", rows=ROWS)), config.judge == "state"
    if states and not rollout.state_dim:
        raise InputError(f"checkpoint {simulator.hash} carries no state to judge; choose --judge frames")
    episodes, others = (list(read_dataset(folder, contract)) for folder in (config.dataset, config.held_out))
    codec = simulator.codec

    def read(frames: torch.Tensor, proprio: torch.Tensor) -> torch.Tensor:
        state = rollout.read_state(codec.encode(frames), proprio)
        assert state is not None
        return state

    kind = read if states else None
    examples, held_out = recorded_examples(episodes, contract, kind), recorded_examples(others, contract, kind)
    judged = {"true frames": held_out}
    if config.generated_clips:
        own, judged["generated frames"] = _generated(config, rollout, episodes, others, states)
        examples = Examples.join([examples, own])
    if scenes:
        examples = Examples.join([examples, _drawn(config, scenes, contract.cameras[0].height)])
    heads: Any
    if states:
        heads = StateHeads(StateHeadConfig(rollout.state_dim, contract.proprio_dim, **_targets(examples)))
    else:
        blank = np.zeros((1, *canvas_shape(contract)), np.uint8)
        channels, *grid = codec.encode(torch.from_numpy(blank)).shape[1:]
        shape = {"latent_channels": channels, "grid": tuple(grid), "proprio_dim": contract.proprio_dim}
        heads = OutcomeHeads(OutcomeConfig(**shape, **_targets(examples)))
    with spending("training the heads") as report:
        generator = torch.Generator().manual_seed(config.seed)
        heads = train_heads(examples, codec, heads, plan, generator, report)
    calibrate(heads, codec, Examples.join(list(judged.values())))
    for title, part in judged.items():
        print(f"\nheld-out {title}\n\n{head_errors(heads, codec, part)}")
    simulator.heads = heads
    simulator.save_pretrained(config.out)
    print(f"checkpoint with heads: {config.out}")


def _generated(
    config: Config, rollout: Rollout, episodes: list[Episode], others: list[Episode], states: bool
) -> tuple[Examples, Examples]:
    """Examples of the training and of the held-out episodes (an eighth as many)."""
    import numpy as np

    from simforcing_env.evaluation.generated_examples import generated_examples
    from simforcing_env.evaluation.progress import counting

    found = []
    for key, (source, count) in enumerate(
        ((episodes, config.generated_clips), (others, config.generated_clips // 8 + 1))
    ):
        generator = np.random.default_rng([config.seed, 3, key])
        with counting("generating clips", count) as step:
            found.append(generated_examples(rollout, source, count, config.generated_frames, generator, step, states))
    return found[0], found[1]


def _targets(examples: Examples) -> dict[str, Any]:
    """What the recorded labels let heads learn: Push-T's shares and successes, or one success for each task."""
    tasks = sum(name.removeprefix("success_").isdecimal() for name in examples.labels)
    if not tasks:
        return {
            "shares": ("coverage", "iou"),
            "events": ("success_coverage", "success_pose"),
            "reward": "coverage",
            "reward_full": 0.95,
            "success": "success_coverage",
        }
    events = tuple(f"success_{task}" for task in range(tasks))
    own = "success_{task}"
    return {"shares": (), "events": events, "reward": own, "reward_full": 1.0, "success": own, "tasks": tasks}


def _drawn(config: Config, scenes: int, size: int) -> Examples:
    import numpy as np

    from simforcing_env.evaluation.progress import counting
    from simforcing_env.evaluation.scenes import draw_scenes, scene_examples

    with counting("drawing scenes", scenes) as step:
        generator = np.random.default_rng([config.seed, 2])
        return scene_examples(draw_scenes(scenes, generator, config.mix, size=size, progress=step))
