"""The training loop: bf16, moving average, cosine schedule, time budget, exact resume after a kill.

Everything random in a step is a pure function of (seed, step, process), so a resumed run repeats an
uninterrupted one; only a time budget, which ends the schedule early, depends on the clock.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedDataParallelKwargs, DistributedType, broadcast
from torch import Tensor, nn
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from world_model.atomic import replace_text
from world_model.checkpoint import read_json
from world_model.contract import Contract
from world_model.errors import DataError
from world_model.interface import Clip, Codec, Sampler, WorldModel
from world_model.rollout import Rollout
from world_model.runtime import Runtime, has_bfloat16, resolve_device
from world_model.training.config import TrainConfig
from world_model.training.state import average_of, load_state, save_state
from world_model.training.validation import ValidationClips, overfit, pick_clips, validate
from world_model.training.windows import Windows

_MOST_SKIPPED = 20  # steps without a finite gradient that are passed over


class _Loss(nn.Module):
    """Lets data-parallel wrappers see the model's losses as one forward pass."""

    def __init__(self, model: Any, sequence_weight: float) -> None:
        super().__init__()
        self.model, self.sequence_weight = model, sequence_weight

    def forward(
        self, clip: Clip | None, sequences: Clip | None, generator: torch.Generator
    ) -> tuple[Tensor, dict[str, Tensor]]:
        losses, logs = [], {}
        if clip is not None:
            loss, logs = self.model.loss(clip, generator)
            losses.append(loss)
        if sequences is not None:
            more, extra = self.model.sequence_loss(sequences, generator)
            losses.append(self.sequence_weight * more)
            logs = logs | extra
        return torch.stack(losses).sum(), logs


class Trainer:
    """Trains ``model`` on ``windows`` in folder ``out``; `run` continues whatever stands there.

    Args:
        export: called with the averaged model, step and seconds after each checkpoint, to write it for users.
        sampler: what validation generates with.
    """

    def __init__(
        self,
        config: TrainConfig,
        model: nn.Module,
        codec: Codec,
        contract: Contract,
        windows: Windows,
        held_out: Windows,
        sampler: Sampler,
        out: Path,
        export: Callable[[nn.Module, int, float], None] | None = None,
        device: str = "auto",
    ) -> None:
        self.config, self.codec, self.contract, self.windows, self.sampler = config, codec, contract, windows, sampler
        self.held_out = held_out
        self.out, self.export = out, export
        precision = config.precision
        if precision == "auto":
            precision = "bf16" if has_bfloat16(resolve_device(device)) else "no"
        # Without a GPU accelerate sees the processes of a launcher only when it is told to use the CPU.
        on_cpu = device == "cpu" or not torch.cuda.is_available()
        # Not every loss reaches every weight: stage 1 of SimForcing leaves out what is told of a simulator.
        partly = DistributedDataParallelKwargs(find_unused_parameters=True)
        self.accelerator = Accelerator(mixed_precision=precision, cpu=on_cpu, kwargs_handlers=[partly])
        if all(p.ndim != 5 for p in model.parameters()):  # that layout is for images, not for videos
            model = model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.plain = model
        # What is sharded is trained as published, without a moving average.
        self.sharded = self.accelerator.distributed_type in (DistributedType.FSDP, DistributedType.DEEPSPEED)
        self.average: Any = None if self.sharded else average_of(model, config.optim.ema)
        self.whole = copy.deepcopy(model) if self.sharded and self.accelerator.is_main_process else None
        optim = config.optim
        optimizer = torch.optim.AdamW(
            model.parameters(), lr=optim.learning_rate, betas=optim.betas, weight_decay=optim.weight_decay
        )
        self.loss, self.optimizer = self.accelerator.prepare(_Loss(model, config.sequence_weight), optimizer)
        if self.average is not None:
            self.average.to(self.accelerator.device)
        if isinstance(codec, nn.Module):
            codec.to(self.accelerator.device)
        self.step, self.seconds, self.skipped = 0, 0.0, 0
        self.lock: IO[str] | None = None
        longer = dataclasses.replace(windows.config, length=config.sequence_length)
        self.sequences = windows.resized(longer) if config.sequences else None
        self.clips: ValidationClips = pick_clips(held_out, contract, config.validation_clips, seed=1)
        out.mkdir(parents=True, exist_ok=True)
        if (out / ("sharded" if self.sharded else "state.pt")).exists():
            self._resume()

    def run(
        self, minutes: float | None = None, cpu_minutes: float | None = None, stop_at: int | None = None
    ) -> dict[str, float]:
        """Train until ``config.steps``, the wall budget, the processor budget or step ``stop_at``; the last validation.

        A budget counts the time of earlier, interrupted runs too.
        """
        if self.step == 0 and self.config.overfit_steps:
            self._overfit_check()
        clock = time.process_time if cpu_minutes is not None else time.monotonic
        budget = 60 * (cpu_minutes if cpu_minutes is not None else minutes if minutes is not None else math.inf)
        last = clock()
        saved = validated = logged = self.seconds
        end = self.config.steps if stop_at is None else min(self.config.steps, stop_at)
        writer = SummaryWriter(str(self.out / "tensorboard")) if self.accelerator.is_main_process else None
        bar = tqdm(
            initial=self.step, total=end, desc="train", mininterval=5, disable=not self.accelerator.is_main_process
        )
        while self.step < end and self.seconds < budget:
            progress = max(self.step / self.config.steps, self.seconds / budget)
            loss, logs = self._train_step(progress)
            now = clock()
            self.seconds, last = self._agreed(self.seconds + now - last), now
            bar.update()
            if self.step % self.config.log_every == 0:
                rate = self.config.log_every / max(self.seconds - logged, 1e-9)
                logged = self.seconds
                self._log(writer, {"loss": loss, "steps_per_second": rate, **logs})
                bar.set_postfix(loss=f"{loss:.4f}", budget=f"{100 * progress:.0f}%")
            if self.seconds - saved > self.config.checkpoint_seconds:
                self.save()
                saved = self.seconds
            if self.seconds - validated > self.config.validate_seconds:
                self._validate(writer)
                validated, last = self.seconds, clock()
        bar.close()
        metrics = self._validate(writer)
        self.save()
        if writer is not None:
            writer.close()
        return metrics

    def close(self) -> None:
        """Let other processes have the folder."""
        if self.lock is not None:
            self.lock.close()

    def save(self) -> None:
        """Write the resumable state and export the averaged model."""
        self.accelerator.wait_for_everyone()
        if self.sharded:
            self._save_sharded()
            return
        if not self.accelerator.is_main_process:
            return
        save_state(
            self.out / "state.pt",
            model=self.accelerator.unwrap_model(self.loss).model.state_dict(),
            average=self.average.state_dict(),
            optimizer=self.optimizer.state_dict(),
            step=self.step,
            seconds=self.seconds,
        )
        if self.export is not None:
            self.export(self.average.module, self.step, self.seconds)

    def _save_sharded(self) -> None:
        """Each process's part of the state for `_resume`, and the whole weights for users, from the main process."""
        self.accelerator.save_state(str(self.out / "sharded"))
        weights = self.accelerator.get_state_dict(self.loss)
        if self.whole is None:
            return
        replace_text(self.out / "sharded.json", json.dumps({"step": self.step, "seconds": self.seconds}))
        self.whole.load_state_dict({name.removeprefix("model."): value for name, value in weights.items()})
        if self.export is not None:
            self.export(self.whole, self.step, self.seconds)

    def _train_step(self, progress: float) -> tuple[float, dict[str, float]]:
        config = self.config
        rank, world = self.accelerator.process_index, self.accelerator.num_processes
        key = self.step * world + rank
        clip = self._clip(self.windows, config.batch, key, self.codec) if config.batch else None
        sequences = self._clip(self.sequences, config.sequences, key, None) if self.sequences else None
        for group in self.optimizer.param_groups:
            group["lr"] = _rate(config, self.step, progress)
        with self.accelerator.autocast():
            loss, logs = self.loss(clip, sequences, self._generator(key))
        self.optimizer.zero_grad()
        self.accelerator.backward(loss)
        norm = float(self.accelerator.clip_grad_norm_(self.loss.parameters(), config.optim.clip))
        self.step += 1
        if math.isfinite(norm):
            self.optimizer.step()
            if self.average is not None:
                self.average.update_parameters(self.accelerator.unwrap_model(self.loss).model)
            self.skipped = 0
        else:
            self.skipped += 1
            if self.skipped > _MOST_SKIPPED:
                raise DataError(
                    f"training in {self.out} met {self.skipped} steps in a row without a finite gradient (step "
                    f"{self.step}); go on from its last checkpoint with a lower learning rate, and check the data"
                )
        return float(loss.detach()), {"gradient": norm, **{k: float(v) for k, v in logs.items()}}

    def _agreed(self, seconds: float) -> float:
        """The main process's time, so that all processes save, validate and stop at the same step."""
        if self.accelerator.num_processes == 1:
            return seconds
        clock = torch.tensor([seconds], dtype=torch.float64, device=self.accelerator.device)
        return float(broadcast(clock))

    def _clip(self, windows: Windows, count: int, key: int, codec: Codec | None) -> Clip:
        clip = windows.clip(windows.draw(count, self.config.seed, key), codec)
        return clip.map(lambda t: t.to(self.accelerator.device))

    def _generator(self, key: int) -> torch.Generator:
        return torch.Generator().manual_seed((self.config.seed * 1_000_003 + key) % 2**63)

    def _validate(self, writer: SummaryWriter | None) -> dict[str, float]:
        if writer is None or self.sharded:  # one process alone cannot run a sharded network
            return {}
        model: WorldModel = self.average.module  # type: ignore[assignment]
        picture = self.out / "rollouts" / f"{self.step:06d}.mp4"
        picture.parent.mkdir(exist_ok=True)
        runtime = Runtime(str(self.accelerator.device))
        rollout = Rollout(model, self.codec, self.contract, self.sampler, self.clips.history, runtime=runtime)
        metrics = validate(rollout, self.clips, picture)
        self._log(writer, metrics, kind="validation")
        tqdm.write(f"step {self.step} ({self.seconds / 60:.1f} min): " + _line(metrics))
        return metrics

    def _overfit_check(self) -> None:
        """Can the network learn 16 clips at all, and do its actions matter? Printed before any long run."""
        model = copy.deepcopy(self.plain)
        windows = torch.arange(len(self.windows))[:: max(1, len(self.windows) // 16)][:16]
        clip = self.windows.clip(windows, self.codec).map(lambda t: t.to(self.accelerator.device))
        with self.accelerator.autocast():
            first, last = overfit(
                model, clip, self._generator(-1 % 2**31), self.config.overfit_steps, self.config.optim.learning_rate
            )
        verdict = "learns" if last < 0.5 * first else "DOES NOT LEARN: lower the learning rate or look at the data"
        tqdm.write(
            f"overfit check on 16 clips, {self.config.overfit_steps} steps: loss {first:.4f} -> {last:.4f} ({verdict})"
        )
        self._log(None, {"first": first, "last": last}, kind="overfit")

    def _log(self, writer: SummaryWriter | None, values: dict[str, float], kind: str = "train") -> None:
        if not self.accelerator.is_main_process:
            return
        record = {"kind": kind, "step": self.step, "minutes": round(self.seconds / 60, 3), **values}
        with open(self.out / "log.jsonl", "a") as file:
            file.write(json.dumps(record) + "\n")
        if writer is not None:
            for name, value in values.items():
                writer.add_scalar(f"{kind}/{name}", value, self.step)

    def _resume(self) -> None:
        if self.sharded:
            self.accelerator.load_state(str(self.out / "sharded"))
            state = read_json(self.out / "sharded.json")
            self.step, self.seconds = int(state["step"]), float(state["seconds"])
            return
        state = load_state(self.out / "state.pt")
        self.accelerator.unwrap_model(self.loss).model.load_state_dict(state["model"])
        self.average.load_state_dict(state["average"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.seconds = state["step"], state["seconds"]
        tqdm.write(f"resumed at step {self.step} ({self.seconds / 60:.1f} min)")


def _rate(config: TrainConfig, step: int, progress: float) -> float:
    """Learning rate: linear warm-up, then a cosine over the schedule or the budget, whichever is further."""
    optim = config.optim
    warm = min(1.0, (step + 1) / max(1, optim.warmup))
    cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))
    return optim.learning_rate * warm * (optim.final_rate + (1 - optim.final_rate) * cosine)


def _line(metrics: dict[str, float]) -> str:
    return "  ".join(f"{k} {v:.3f}" for k, v in metrics.items())
