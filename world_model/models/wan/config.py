"""Sizes of the two experts; the defaults are those of SimForcing's public code on Bridge (specification 3.1 and 4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

from world_model.diffusion.flow import NoiseConfig
from world_model.errors import InputError
from world_model.models.video_diffusion import VideoConfig
from world_model.rules import FLAG, Whole, settle

PUBLISHED: Mapping[str, Any] = MappingProxyType(
    {
        "patch_size": (1, 2, 2),
        "num_attention_heads": 24,
        "attention_head_dim": 128,
        "in_channels": 48,
        "out_channels": 48,
        "text_dim": 4096,
        "freq_dim": 256,
        "ffn_dim": 14336,
        "num_layers": 30,
        "cross_attn_norm": True,
        "qk_norm": "rms_norm_across_heads",
        "eps": 1e-6,
        "rope_max_seq_len": 1024,
    }
)
"""Settings of diffusers' `WanTransformer3DModel` for Wan2.2-TI2V-5B."""


@dataclass(frozen=True)
class WanConfig(VideoConfig):
    """Frames are video frames; ``stride`` of them, after the first one, share a latent frame."""

    latent_channels: int = 48
    frames: int = 21
    objective: Literal["ddpm", "flow", "clean", "bell"] = "bell"
    noise: NoiseConfig = field(default_factory=lambda: NoiseConfig(pure=0.0, shift=5.0))
    known_clean: bool = True
    settings: dict[str, Any] = field(default_factory=dict)
    """Of the video expert, as in its ``config.json``, where they differ from `PUBLISHED`."""
    stride: int = 4
    """Video frames of a latent frame; 1 for a codec that takes frames one by one."""
    action_width: int = 1024
    """Of the action expert, whose layers and heads are the video expert's; 0 for no action expert."""
    action_ffn: int = 4096
    told_proprio: int = 0
    """Numbers of the first known frame's proprio that are told as one more token of the text (7 on Bridge)."""
    text_tokens: int = 1
    """Tokens of the prompt that the model keeps (128 on Bridge), for clips and histories that bring none; a single one,
    of zeros, for no prompt."""
    checkpointing: bool = False
    """Compute blocks again in the backward pass instead of keeping their activations."""

    def __post_init__(self) -> None:
        super().__post_init__()
        size = Whole(0, 65_536)
        settle(self, dict.fromkeys(("action_width", "action_ffn", "told_proprio"), size))
        settle(self, {"text_tokens": Whole(1, 65_536), "stride": Whole(1, 64), "checkpointing": FLAG})
        unknown = sorted(set(self.settings) - set(PUBLISHED))
        if unknown:
            raise InputError(f"settings name {unknown[0]!r} but a video expert has {', '.join(PUBLISHED)}; correct it")
        if self.whole["in_channels"] != self.latent_channels or self.whole["out_channels"] != self.latent_channels:
            raise InputError(
                f"latent_channels is {self.latent_channels} but the video expert takes {self.whole['in_channels']} "
                f"and gives {self.whole['out_channels']}; make them the same"
            )
        if tuple(self.whole["patch_size"]) != (1, self.patch, self.patch):
            raise InputError(
                f"patch_size is {self.whole['patch_size']} but patches must be of one frame and square; use (1, 2, 2)"
            )
        if self.stride > 1 and (self.history != 1 or (self.frames - 1) % self.stride):
            raise InputError(
                f"history is {self.history} and frames {self.frames} but with {self.stride} frames in a latent one "
                f"there is one known frame and {self.stride} k new ones; correct them"
            )
        if self.stride > 1 and self.proprio_dim:
            raise InputError(
                f"proprio_dim is {self.proprio_dim} but proprio is not foreseen with {self.stride} frames in a latent "
                "one; use 0"
            )

    @property
    def whole(self) -> dict[str, Any]:
        """All settings of the video expert."""
        return {**PUBLISHED, **self.settings}

    @property
    def depth(self) -> int:
        return int(self.whole["num_layers"])

    @property
    def dim(self) -> int:
        return int(self.whole["num_attention_heads"] * self.whole["attention_head_dim"])

    @property
    def patch(self) -> int:
        return int(self.whole["patch_size"][1])
