"""Where and how the networks run: device, precision, rows per call."""

from __future__ import annotations

import contextlib
import copy
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

import torch
from torch import nn

from world_model.errors import InputError
from world_model.rules import Choice, Is, follow

Precision = Literal["auto", "float32", "bfloat16"]
Module = TypeVar("Module", bound=nn.Module)
DEVICE = Is((str, torch.device), "auto, cpu, cuda or another torch device", str)


@dataclass(frozen=True)
class Runtime:
    """Choices that change speed and rounding but not meaning; `choose` makes them."""

    device: str = "cpu"
    """Anything torch.device takes."""
    precision: Literal["float32", "bfloat16"] = "float32"
    """bfloat16 runs the denoiser under autocast; codec and heads stay in float32."""
    rows: int = 0
    """Most episodes in one network call, 0 for all of them."""

    @classmethod
    def choose(cls, device: str = "auto", precision: Precision = "auto", rows: int = 0) -> Runtime:
        """Resolve "auto": a GPU where there is one, bfloat16 where the device computes in it.

        Raises:
            InputError: an unknown precision, or a device that is not there.
        """
        follow(Choice(get_args(Precision)), "precision", precision)
        where = resolve_device(follow(DEVICE, "device", device))
        if precision == "auto":
            precision = native_precision(where)
        return cls(where, precision, rows)

    def prepare(self, model: Module) -> Module:
        """A copy of ``model`` that runs fastest: channels last, and weights of layers that autocast would cast anyway.

        Between one row and many a float32 layer may round differently; bfloat16 layers do not on the processors
        that have it (see `RowLinear`), so there an episode does not depend on its batch at all.
        """
        model = copy.deepcopy(model).to(self.device)
        for module in model.modules():
            if self.precision == "bfloat16" and isinstance(module, (nn.Conv2d, nn.Linear)):
                module.to(torch.bfloat16)
                if type(module) is nn.Linear:
                    module.__class__ = RowLinear
            for parameter in module.parameters(recurse=False):
                if parameter.ndim == 4:
                    parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
        return model

    def autocast(self) -> contextlib.AbstractContextManager[None]:
        if self.precision == "float32":
            return contextlib.nullcontext()
        return torch.autocast(torch.device(self.device).type, torch.bfloat16)

    def blocks(self, batch: int) -> Iterator[slice]:
        """Slices that cover ``batch`` rows."""
        size = self.rows or batch
        for first in range(0, batch, size):
            yield slice(first, min(first + size, batch))


class RowLinear(nn.Linear):
    """Each row comes out the same alone as among others.

    A single row goes another way through processors, which sums in another order and now and then rounds to the next
    bfloat16; so it goes as two.
    """

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """``(..., K)`` to ``(..., N)``, as `nn.Linear`."""
        if rows.numel() > rows.shape[-1] or rows.ndim < 2:
            return super().forward(rows)
        return super().forward(rows.expand(2, *rows.shape[1:]))[:1]


def resolve_device(name: str = "auto") -> str:
    """``auto`` becomes ``cuda`` where there is one, else ``cpu``; any other name stays.

    Raises:
        InputError: nothing can be computed on a device of this name.
    """
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.ones(1, device=name).item()
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # torch asserts that it was built with CUDA
        reason = textwrap.shorten(str(error).partition(". ")[0], 120, placeholder=" ...")
        raise InputError(f"device {name!r} cannot be used ({reason}); give cpu, or auto for what is there") from error
    return name


def native_precision(device: str) -> Literal["float32", "bfloat16"]:
    """What "auto" means on a resolved device: emulated bfloat16 is up to 250 times slower than float32."""
    return "bfloat16" if has_bfloat16(device) else "float32"


def has_bfloat16(device: str) -> bool:
    """Whether the device has bfloat16 arithmetic of its own."""
    kind = torch.device(device).type
    if kind == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    supported = getattr(torch.cpu, "_is_avx512_bf16_supported", None)  # torch has no public name for it
    return kind == "cpu" and supported is not None and bool(supported())
