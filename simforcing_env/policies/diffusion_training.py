"""Training of a diffusion policy: a budget of processor time, moving average, exact resume, several qualities kept."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from simforcing_env.policies.denoiser import ActionDenoiser
from simforcing_env.policies.diffusion import DiffusionPolicy
from simforcing_env.policies.diffusion_data import Moments
from world_model.atomic import replace_text
from world_model.contract import first_difference
from world_model.errors import DataError, InputError
from world_model.initial import initialise
from world_model.runtime import Runtime
from world_model.training.state import average_of, load_state, save_state


@dataclass(frozen=True)
class PolicyTraining:
    """How a policy is fitted."""

    cpu_minutes: float = 10.0
    """Budget of processor time, that of interrupted runs included."""
    steps: int | None = None
    """End after so many steps if that is sooner."""
    batch: int = 256
    """Moments per step."""
    learning_rate: float = 1e-3
    """Highest one; it falls along a cosine."""
    weight_decay: float = 1e-3
    """Of AdamW."""
    average: float = 0.999
    """Decay of the moving average of the weights, which is what is kept."""
    blur: float = 0.004
    """Standard deviation added to what is seen, in [-1, 1]; 0.004 is a px of 512, as the pose reader errs."""
    keep: tuple[float, ...] = (0.05, 0.2)
    """Parts of the budget at which a checkpoint is kept, for policies of lower quality."""
    save_seconds: float = 60.0
    """Processor time between resumable states."""

    def __post_init__(self) -> None:
        if not all(0 < part < 1 for part in self.keep):
            raise InputError(f"keep is {self.keep} but must be parts between 0 and 1; correct it")


class PolicyTrainer:
    """Fits ``policy`` to ``moments`` in the folder ``out``; `run` goes on from whatever stands there.

    Raises:
        DataError: ``out`` holds a run with other settings.
    """

    def __init__(
        self, policy: DiffusionPolicy, moments: Moments, config: PolicyTraining, out: Path, seed: int, about: Any = None
    ) -> None:
        self.policy, self.moments, self.config, self.out, self.seed = policy, moments, config, out, seed
        trained = {"net": policy.net} if policy.eyes.frozen else {"net": policy.net, "eyes": policy.eyes}
        self.body = nn.ModuleDict(trained)
        out.mkdir(parents=True, exist_ok=True)
        settings = {"training": asdict(config), "seed": seed, "moments": len(moments), "about": about}
        _claim(out / "config.json", settings)
        initialise(self.body, torch.Generator().manual_seed(seed))
        nn.init.zeros_(policy.net.out.weight)
        _measure(policy.net, moments)
        self.average = average_of(self.body, config.average)
        self.optimizer = torch.optim.AdamW(
            self.body.parameters(), lr=config.learning_rate, betas=(0.9, 0.95), weight_decay=config.weight_decay
        )
        self._runtime = Runtime.choose("cpu")
        self.step, self.seconds = 0, 0.0
        if (out / "state.pt").exists():
            state = load_state(out / "state.pt")
            self.body.load_state_dict(state["body"])
            self.average.load_state_dict(state["average"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.step, self.seconds = state["step"], state["seconds"]

    def run(self, progress: Callable[[float, float], None] = lambda part, loss: None) -> DiffusionPolicy:
        """Train for the rest of the budget; ``progress`` is told the part that is gone and the loss.

        Leaves ``out/checkpoint``, and ``out/checkpoint-020`` and the like for each kept part.
        """
        config, last, part = self.config, time.process_time(), self._part()
        saved, running = self.seconds, math.nan
        self.body.train()
        while part < 1:
            loss = self._train_step(part)
            running = loss if math.isnan(running) else 0.98 * running + 0.02 * loss
            now = time.process_time()
            self.seconds, last, before = self.seconds + now - last, now, part
            part = self._part()
            progress(part, running)
            for mark in config.keep:
                if before < mark <= part:
                    self._export(f"checkpoint-{round(100 * mark):03d}", running)
            if self.seconds - saved > config.save_seconds:
                self._save()
                saved = self.seconds
        self._save()
        return self._export("checkpoint", running)

    def _part(self) -> float:
        steps = math.inf if self.config.steps is None else self.config.steps
        return min(1.0, max(self.seconds / (60 * self.config.cpu_minutes), self.step / steps))

    def _train_step(self, part: float) -> float:
        config = self.config
        generator = torch.Generator().manual_seed((self.seed * 1_000_003 + self.step) % 2**63)
        warm = min(1.0, (self.step + 1) / 200)
        self.optimizer.param_groups[0]["lr"] = config.learning_rate * warm * (0.5 + 0.5 * math.cos(math.pi * part))
        rows = torch.randint(len(self.moments), (config.batch,), generator=generator)
        sight = self._sight(rows, generator)
        actions = self.moments.chunks(rows, self.policy.horizon)
        with self._runtime.autocast():
            loss = self.policy.net.loss(actions, sight, generator)
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(self.body.parameters(), 1.0)
        self.optimizer.step()
        self.average.update_parameters(self.body)
        self.step += 1
        return float(loss.detach())

    def _sight(self, rows: Tensor, generator: torch.Generator) -> Tensor:
        proprio, moments = self.moments.proprio[rows], self.moments
        tasks = None if moments.tasks is None else moments.tasks[rows]
        if moments.points is not None:
            sight = self.policy.eyes.of_state(proprio, moments.points[rows], tasks)
        else:
            assert moments.frames is not None
            sight = self.policy.eyes(moments.frames[rows], proprio, tasks)
        noise: Tensor = torch.randn(sight.shape, generator=generator)
        noise[:, : proprio.shape[1]] = 0  # proprio is exact
        return sight + self.config.blur * noise

    def _save(self) -> None:
        save_state(
            self.out / "state.pt",
            body=self.body.state_dict(),
            average=self.average.state_dict(),
            optimizer=self.optimizer.state_dict(),
            step=self.step,
            seconds=self.seconds,
        )

    def _export(self, name: str, loss: float) -> DiffusionPolicy:
        """Write the averaged weights as a policy's folder."""
        body: Any = self.average.module
        eyes = self.policy.eyes if self.policy.eyes.frozen else body["eyes"]
        policy = DiffusionPolicy(body["net"], eyes, self.policy.contract, name=name, steps=self.policy.steps)
        card = (
            "---\nlibrary_name: simforcing-env\nlicense: apache-2.0\ntags: [robotics, diffusion-policy]\n---\n"
            f"# {self.out.name}\n\nDiffusion policy of {policy.contract.name}: {self.step} steps of "
            f"{self.config.batch} of {len(self.moments):,} moments, {self.seconds / 60:.1f} minutes of one core, "
            f"loss {loss:.4f}.\n"
        )
        policy.save(self.out / name, card)
        return policy


def _measure(net: ActionDenoiser, moments: Moments, most: int = 50_000) -> None:
    """Set the network's mean and spread of relative actions, each action of the chunk its own."""
    rows = torch.arange(len(moments))[:: max(1, len(moments) // most)]
    away = moments.chunks(rows, net.config.horizon)
    if net.config.places:
        away = away - moments.proprio[rows][:, None, : net.config.action_dim]
    net.mean.copy_(away.mean(0))
    net.spread.copy_(away.std(0).clamp_min(1e-3))


def _claim(path: Path, settings: dict[str, Any]) -> None:
    """Write down what is trained here, or make sure that it is the same as before."""
    wanted = json.loads(json.dumps(settings, default=str))
    if not path.exists():
        replace_text(path, json.dumps(wanted, indent=2))
        return
    difference = first_difference(json.loads(path.read_text()), wanted)
    if difference is not None:
        field, there, here = difference
        raise DataError(f"{path.parent} holds a run with {field} {there!r}, not {here!r}; choose another --out")
