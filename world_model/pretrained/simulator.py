"""A learned simulator: everything that an environment needs from one checkpoint folder."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import torch
from huggingface_hub import ModelHubMixin
from torch import Tensor, nn

from world_model.canvas import canvas_shape
from world_model.checkpoint import writing_folder
from world_model.contract import Contract
from world_model.pretrained.bundle import (
    SIM_STARTS,
    STARTS,
    Weights,
    model_config,
    read_parts,
    write_model,
    write_parts,
)
from world_model.pretrained.names import HUB_OPTIONS, resolve
from world_model.pretrained.starts import Starts
from world_model.rules import PATH, Choice, Is, Rule, follow, follow_all, or_none, refuse_unknown
from world_model.runtime import DEVICE, resolve_device

UNSAVED = "unsaved"
DTYPE = Choice((torch.float32, torch.bfloat16, torch.float16, torch.float64))
LOADING: Mapping[str, Rule] = {
    "device": DEVICE,
    "dtype": DTYPE,
    "contract": or_none(Is((Contract,), "a Contract")),
    "weights": Choice(get_args(Weights)),
}


class LearnedSimulator(ModelHubMixin):
    """World model, codec, heads, sampler, contract and starts that belong together.

    Args:
        model: an `interface.WorldModel` of the registry ``MODELS``.
        codec: an `interface.Codec` of ``CODECS``.
        sampler: an `interface.Sampler` of ``SAMPLERS``.
        history: clean frames that a generation sees by default.
        heads: an `interface.Heads` of ``HEADS``, or None.
        starts: named first frames, or None.
        sim_starts: of a model of two looks, the first frames of its simulated side under the same names, or None.
        recipe: how it was made (command, data, seed, minutes); plain JSON values.
        card: text of the model card; "" has one written from the other parts.
        hash: of the folder that it was loaded from.
    """

    def __init__(
        self,
        *,
        model: Any,
        codec: Any,
        contract: Contract,
        sampler: Any,
        history: int,
        heads: Any = None,
        starts: Starts | None = None,
        sim_starts: Starts | None = None,
        recipe: Mapping[str, Any] | None = None,
        card: str = "",
        hash: str = UNSAVED,
    ) -> None:
        self.model, self.codec, self.heads, self.sampler = model, codec, heads, sampler
        self.contract, self.history = contract, history
        self.starts, self.sim_starts = starts, sim_starts
        self.recipe, self.card, self.hash = dict(recipe or {}), card, hash

    @property
    def config(self) -> dict[str, Any]:
        """The object of ``config.json``: model, sampler, history, recipe."""
        return model_config(self.model, self.sampler, self.history, self.recipe)

    @classmethod
    def from_pretrained(  # type: ignore[override]  # narrower than the mixin's: no free model arguments
        cls,
        name: str | Path,
        *,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        contract: Contract | None = None,
        weights: Weights = "model",
        **hub: Any,
    ) -> LearnedSimulator:
        """Open a folder, a packaged name or a hub id, in evaluation mode and without gradients.

        Args:
            dtype: of the model; codec and heads stay in float32.
            contract: refuse a checkpoint that was made for another one.
            weights: ``ema`` reads the moving average of a training checkpoint.
            hub: `huggingface_hub.snapshot_download` arguments (revision, token, cache_dir, local_files_only, ...).

        Raises:
            DataError: not found, not reachable, damaged, or not fitting its own config.
            ContractError: the contract differs from ``contract``, with the field.
            InputError: an argument of a wrong type, an unknown one, or a device that is not there.
        """
        refuse_unknown(hub, (*LOADING, *HUB_OPTIONS))
        asked = {"device": device, "dtype": dtype, "contract": contract, "weights": weights}
        device = resolve_device(follow_all(LOADING, asked)["device"])
        parts = read_parts(resolve(name, **hub), weights, contract)
        parts["model"].to(device, dtype)
        for module in (parts["codec"], parts["heads"]):
            if module is not None:
                module.to(device)
        for module in (parts["model"], parts["codec"], parts["heads"]):
            if isinstance(module, nn.Module):
                module.eval().requires_grad_(False)
        return cls(**parts)

    def save_pretrained(  # type: ignore[override]  # the mixin's push arguments stand in `push_to_hub`
        self,
        folder: str | Path,
        *,
        dtype: torch.dtype | None = torch.bfloat16,
        ema: Mapping[str, Tensor] | None = None,
        **_mixin: Any,
    ) -> None:
        """Write the folder whole or not at all, replacing what stands there.

        Args:
            dtype: of the stored model parameters; None keeps theirs. Buffers, codec and heads are stored as they are.
            ema: a moving average of the model's state dict, for training checkpoints.
            _mixin: what `push_to_hub` of the mixin hands on (an own config and card arguments); not used.
        """
        follow(or_none(DTYPE), "dtype", dtype)
        with writing_folder(follow(PATH, "folder", folder)) as temporary:
            write_model(temporary, self.model, dtype, ema)
            card = self.card or self._default_card()
            starts = {STARTS: self.starts, SIM_STARTS: self.sim_starts}
            write_parts(temporary, self.config, self.contract, self.codec, self.heads, starts, card)

    def _default_card(self) -> str:
        parameters = sum(p.numel() for p in self.model.parameters())
        height, width, _ = canvas_shape(self.contract)
        return (
            "---\nlibrary_name: simforcing-env\nlicense: apache-2.0\ntags: [robotics, world-model]\n---\n"
            f"# Learned simulator of {self.contract.name}\n\n"
            f"{type(self.model).__name__} with {parameters:,} parameters, {type(self.codec).__name__}, "
            f"{width} x {height} pixels at {self.contract.frame_hz:g} frames/s, "
            f"history of {self.history} frames, {len(self.starts or ())} starts.\n"
        )
