"""Sizes and readings of IRASim."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from world_model.errors import InputError
from world_model.models.video_diffusion import VideoConfig
from world_model.rules import FLAG, Choice, Several, Whole, settle

SIZES = MappingProxyType({"S": (12, 384, 6), "B": (12, 768, 12), "L": (24, 1024, 16), "XL": (28, 1152, 16)})
"""Depth, width and heads of the published sizes."""


@dataclass(frozen=True)
class IrasimConfig(VideoConfig):
    """One class for all sizes; the defaults are the released XL/2 for RT-1 and Bridge."""

    grid: tuple[int, int] = (32, 40)
    """Rows and columns of the latents; (36, 64) for Language-Table."""
    patch: int = 2
    """Latent cells of a token's side: 2, 4 and 8 are published."""
    depth: int = 28
    """Blocks: spatial and temporal ones in turn, an even number."""
    dim: int = 1152
    heads: int = 16
    conditioning: Literal["frame", "video"] = "frame"
    """Frame-Ada, an embedding of each frame's action; Video-Ada, one embedding of the clip's actions everywhere."""
    temporal: Literal["time", "trajectory"] = "time"
    """What temporal blocks of Frame-Ada are told: the noise level alone (released code), or an embedding of the
    whole trajectory with it (paper)."""
    final_frame_ada: bool = False
    """Whether Frame-Ada's last layer is told the actions; the released weights were trained without."""
    embedding: Literal["mlp", "linear"] = "mlp"
    """Of an action: two layers with a GELU between them, or without (the released Language-Table models)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        size = Whole(1, 65_536)
        settle(self, {"grid": Several(size, 2), "patch": size, "depth": Whole(2, 1024), "dim": size, "heads": size})
        settle(self, {"conditioning": Choice(("frame", "video")), "temporal": Choice(("time", "trajectory"))})
        settle(self, {"final_frame_ada": FLAG, "embedding": Choice(("mlp", "linear"))})
        if self.dim % self.heads or self.dim % 4 or self.depth % 2:
            raise InputError(
                f"dim is {self.dim} with {self.heads} heads and depth is {self.depth}; dim must be a multiple of 4 and "
                "of the heads, and depth even"
            )
        if any(side % self.patch for side in self.grid):
            raise InputError(
                f"grid is {self.grid}, which patches of {self.patch} do not fill; pad or resize the frames"
            )


def irasim(size: str, **fields: Any) -> IrasimConfig:
    """A published size by its letter, with other fields changed: ``irasim("S", patch=4)``."""
    depth, dim, heads = SIZES[size]
    return IrasimConfig(**{"depth": depth, "dim": dim, "heads": heads, **fields})
