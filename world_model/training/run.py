"""From a recipe's name and folders to a `Trainer`."""

from __future__ import annotations

import dataclasses
import fcntl
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import torch
from torch import nn

from world_model.checkpoint import load_state
from world_model.codecs import CODECS, fit_pca, load_codec, save_codec
from world_model.data.lerobot.reader import read_dataset
from world_model.diffusion import SAMPLERS
from world_model.errors import DataError
from world_model.interface import Codec
from world_model.models import MODELS
from world_model.pretrained import LearnedSimulator
from world_model.registry import build, build_config
from world_model.training.recipes import Recipe, recipe
from world_model.training.trainer import Trainer
from world_model.training.windows import Windows


def start_run(
    name: str,
    overrides: Sequence[str],
    *,
    dataset: Path,
    held_out: Path,
    out: Path,
    codec: Path | None = None,
    initial: Path | None = None,
    device: str = "auto",
) -> Trainer:
    """Read the data, fit or load the codec, build the model and pick up what stands in ``out``.

    ``initial``: checkpoint whose weights and codec a new run begins with.

    Raises:
        ContractError: training and held-out data have different contracts.
        DataError: ``out`` holds a run of another configuration, or data cannot be read.
    """
    plan = recipe(name, overrides)
    data, other = read_dataset(dataset), read_dataset(held_out)
    first = None if initial is None else LearnedSimulator.from_pretrained(initial, contract=data.contract)
    data.contract.require_same(other.contract, str(dataset), str(held_out))
    out.mkdir(parents=True, exist_ok=True)
    lock = _lock(out)
    _claim(out / "config.json", plan, {"episodes": len(data), "frames": data.total_frames})
    windows = Windows([data[i] for i in range(len(data))], data.contract, plan.train.windows, plan.train.state)
    length = plan.train.windows.history + plan.train.validation_frames
    check = dataclasses.replace(plan.train.windows, length=length)
    validation = Windows([other[i] for i in range(len(other))], data.contract, check, plan.train.state)
    net = _codec(plan, windows, first.codec if first else load_codec(codec) if codec else None, out / "codec")
    weights = tuple(float(w) for w in getattr(net, "scale", torch.ones(1)).square())
    values = {**plan.train.model, "channel_weights": weights if len(weights) > 1 else ()}
    kind, model_config = build_config(MODELS, values, f"recipe {name!r}")
    with torch.random.fork_rng():
        torch.manual_seed(plan.train.seed)  # torch's layers draw their first weights from the global generator
        model = MODELS[kind][1](model_config)
    if first is not None:
        load_state(model, first.model.state_dict(), Path(str(initial)))
    sampler = build(SAMPLERS, plan.sampler, f"recipe {name!r}")

    def export(average: nn.Module, step: int, seconds: float) -> None:
        LearnedSimulator(
            model=average,
            codec=net,
            contract=data.contract,
            sampler=sampler,
            history=plan.history,
            recipe={
                "name": name,
                "overrides": list(overrides),
                "seed": plan.train.seed,
                "steps": step,
                "minutes": round(seconds / 60, 1),
                "frames": len(windows.frames),
            },
        ).save_pretrained(out / "checkpoint")

    trainer = Trainer(plan.train, model, net, data.contract, windows, validation, sampler, out, export, device)
    trainer.lock = lock
    return trainer


def _codec(plan: Recipe, windows: Windows, given: Any, folder: Path) -> Codec:
    if not folder.exists():
        if given is not None:
            save_codec(given, folder)
        else:
            every = max(1, len(windows.frames) // 4000)
            _, config = build_config({"pca": CODECS["pca"]}, plan.codec, "recipe's codec")
            save_codec(fit_pca(windows.frames[::every], config), folder)
    codec: Codec = load_codec(folder)  # type: ignore[assignment]
    return codec


def _lock(out: Path) -> IO[str] | None:
    """Keep other processes out of the folder until the handle is closed or this process ends."""
    if os.environ.get("RANK", "0") != "0":  # a launcher's other processes share the folder of the first
        return None
    handle = open(out / ".lock", "w")  # noqa: SIM115 (held as long as the trainer)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        raise DataError(f"{out} is in use by another training; wait for it or choose another --out") from None
    return handle


def _claim(path: Path, plan: Recipe, data: dict[str, int]) -> None:
    """Write the run's configuration, or make sure that the one there is the same."""
    text = json.dumps({**dataclasses.asdict(plan), "data": data}, indent=2)
    if path.exists():
        if path.read_text() != text:
            raise DataError(
                f"{path.parent} holds a run of another configuration or data set; choose another --out or delete it"
            )
        return
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text)
    os.replace(temporary, path)
