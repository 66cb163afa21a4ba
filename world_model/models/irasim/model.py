"""The network of IRASim: even blocks attend within a frame, odd blocks along time at one place."""

from __future__ import annotations

from collections.abc import Callable

from einops import rearrange
from torch import Tensor, nn

from world_model.models.irasim.actions import ActionEmbedding, Told
from world_model.models.irasim.config import IrasimConfig
from world_model.models.layers import AdaLNBlock, TimestepEmbedding, modulate, sincos_1d, sincos_2d, zero_linear
from world_model.models.patches import PatchHead, PatchStem
from world_model.models.video_diffusion import Answer, VideoDiffusion

Added = Callable[[int], Tensor | None]


class Irasim(VideoDiffusion):
    """All published sizes, and any other; see `IrasimConfig` for the readings of paper and code."""

    def __init__(self, config: IrasimConfig) -> None:
        super().__init__(config, config.dim)
        rows, columns = (side // config.patch for side in config.grid)
        self.stem = PatchStem(config.latent_channels, config.patch, config.dim, 0)
        self.noise_level = TimestepEmbedding(config.dim)
        self.actions = ActionEmbedding(config)
        self.register_buffer("places", sincos_2d(rows, columns, config.dim), persistent=False)  # (P, D)
        self.blocks = nn.ModuleList(AdaLNBlock(config.dim, config.heads) for _ in range(config.depth))
        self.norm = nn.LayerNorm(config.dim, elementwise_affine=False, eps=1e-6)
        self.modulation = nn.Sequential(nn.SiLU(), zero_linear(config.dim, 2 * config.dim))
        self.head = PatchHead(config.dim, config.patch, config.latent_channels, 0)
        for part in (self.blocks, self.actions, self.noise_level):
            for name, layer in part.named_modules():
                if isinstance(layer, nn.Linear) and "modulation" not in name:  # gates and shifts stay at zero
                    nn.init.zeros_(layer.bias)
                    if part is not self.noise_level:  # which draws its own
                        nn.init.xavier_uniform_(layer.weight)

    def embed(self, actions: Tensor, real: Tensor, withheld: Tensor) -> Told:
        return self.actions(actions, real, withheld)

    def answer(self, frames: Tensor, times: Tensor, told: Told, added: Added | None = None) -> Answer:
        """See `VideoDiffusion.answer`; ``added`` says for each block what joins its tokens ``(B, F, P, D)``."""
        batch, length = frames.shape[:2]
        level = self.noise_level(times / 1000)  # (B, F, D)
        tokens, _ = self.stem(frames.flatten(0, 1))  # (B F, P, D)
        x = rearrange(tokens + self.places, "(b f) p d -> b f p d", b=batch)
        clock = sincos_1d(length, self.config.dim).to(x)  # (F, D)
        within, along = level + told.spatial, level + told.temporal
        for number, block in enumerate(self.blocks):
            more = None if added is None else added(number)
            if number % 2 == 0:
                x, _ = block(x, within[:, :, None], added=more)
                continue
            x = x + clock[:, None] if number == 1 else x
            more = None if more is None else more.transpose(1, 2)
            x, _ = block(x.transpose(1, 2), along[:, None], added=more)  # (B, P, F, D)
            x = x.transpose(1, 2)
        shift, scale = self.modulation(level + told.final).chunk(2, dim=-1)
        x = modulate(self.norm(x), shift[:, :, None], scale[:, :, None])
        latents = self.head(x.flatten(0, 1), None, self.config.grid)
        return Answer(rearrange(latents, "(b f) c u v -> b f c u v", b=batch), x.mean(dim=2))
