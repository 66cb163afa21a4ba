"""The codecs that are held against each other, each with the way to fit it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from world_model.codecs.base import CodecModule
from world_model.codecs.conv import ConvConfig, ConvFit, fit_conv
from world_model.codecs.pca import PcaConfig, fit_pca
from world_model.codecs.space_to_depth import SpaceToDepthConfig, fit_space_to_depth
from world_model.codecs.taef2 import DECODER_FILE, ENCODER_FILE, fit_taef2, read_taef2

Progress = Callable[[float, float], None]
_TAEF2_FRAMES = 512


@dataclass(frozen=True)
class Candidate:
    """A named codec; ``fit(frames, progress)`` makes it from ``(N, H, W, 3)`` uint8 training frames.

    A learned one takes minutes and tells ``progress`` the part that is gone and its loss.
    """

    name: str
    fit: Callable[[Tensor, Progress], CodecModule]
    learned: bool = False


def candidates(minutes: float, seed: int, taef2: Path | None) -> list[Candidate]:
    """All candidates; each learned one trains for ``minutes``. ``taef2``: folder of its weights, None leaves it out."""
    listed = [Candidate("space_to_depth_p4", _space_to_depth)]
    for patch, channels in ((4, 12), (4, 16), (4, 20), (4, 24), (4, 32), (8, 32), (8, 64), (8, 96)):
        listed.append(Candidate(f"pca_p{patch}_k{channels}", partial(_pca, PcaConfig(patch, channels))))
    for channels in (8, 12, 16):
        fit = partial(_conv, ConvConfig(4, channels), ConvFit(minutes), seed)
        listed.append(Candidate(f"conv_p4_k{channels}", fit, learned=True))
    if taef2 is not None:
        listed.append(Candidate("taef2", partial(_taef2, taef2)))
    return listed


def has_taef2(folder: Path) -> bool:
    """Whether a folder holds both weight files of TAEF2."""
    return all((folder / name).is_file() for name in (ENCODER_FILE, DECODER_FILE))


def _space_to_depth(frames: Tensor, progress: Progress) -> CodecModule:
    return fit_space_to_depth(frames, SpaceToDepthConfig(4))


def _pca(config: PcaConfig, frames: Tensor, progress: Progress) -> CodecModule:
    return fit_pca(frames, config)


def _conv(config: ConvConfig, fit: ConvFit, seed: int, frames: Tensor, progress: Progress) -> CodecModule:
    return fit_conv(frames, config, fit, torch.Generator().manual_seed(seed), progress)


def _taef2(folder: Path, frames: Tensor, progress: Progress) -> CodecModule:
    return fit_taef2(read_taef2(folder), frames[:: max(1, len(frames) // _TAEF2_FRAMES)])
