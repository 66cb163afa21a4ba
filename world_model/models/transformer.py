"""Factorised spatial/temporal diffusion transformer: IRASim's chunk form (a) and the frame-causal forms (b, c).

IRASim (arXiv 2406.14540, released code): even blocks attend within a frame, odd blocks along time at one place;
frame-level adaLN adds each frame's action embedding to the noise-level embedding. Here every frame has its own noise
level, clean history being level 0, and history and chunk length are free at run time.

``order="chunk"`` denoises all frames of a chunk together. ``order="causal"`` predicts each frame from clean past
frames: in training all frames of a clip at once, as a clean copy and a noisy copy under a mask; at run time the keys
and values of the clean frames are computed once per generated frame and shared by its sampler steps.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal

import torch
from einops import rearrange
from torch import Tensor, nn

from world_model.diffusion.flow import NoiseConfig, add_noise, channel_error, draw_levels, draw_noise
from world_model.interface import Clip, Denoised, History
from world_model.models.forecast import STEP_SCALE
from world_model.models.frame_condition import FrameCondition, FrameConditionConfig
from world_model.models.layers import AdaLNBlock, TimestepEmbedding, modulate, sincos_1d, sincos_2d, zero_linear
from world_model.models.patches import HEADS, STEMS

Past = tuple[Tensor, Tensor]


@dataclass(frozen=True)
class TransformerConfig:
    """Sizes and options; ``stem`` is the published patch convolution or a convolutional stem and head."""

    condition: FrameConditionConfig
    latent_channels: int = 16
    grid: tuple[int, int] = (16, 16)
    patch: int = 2
    depth: int = 8
    dim: int = 192
    heads: int = 6
    order: Literal["chunk", "causal"] = "chunk"
    stem: Literal["patch", "conv"] = "patch"
    stem_width: int = 48
    prediction: Literal["x0", "v"] = "x0"
    context_frames: int = 3
    """Most clean frames used at run time; in chunk order also how many stand in front of a training clip."""
    noise: NoiseConfig = field(default_factory=NoiseConfig)
    channel_weights: tuple[float, ...] = ()
    """Weight of each latent channel in the loss, e.g. the codec's squared scales."""


@dataclass(frozen=True)
class TransformerContext:
    history: History
    condition: Tensor  # (B, n, D) of the new frames
    reference: Tensor  # (B, n, P) proprio that the predicted change is added to
    past: tuple[Past, ...]  # causal form: keys and values of the clean frames, one pair for each temporal block


class FactorisedTransformer(nn.Module):
    """`WorldModel` over any history and, in chunk order, any number of frames a call."""

    frames_per_call: ClassVar[int] = 0

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        rows, columns = config.grid[0] // config.patch, config.grid[1] // config.patch
        self.condition_frames = FrameCondition(config.condition, config.dim)
        self.noise_level = TimestepEmbedding(config.dim)
        self.stem = STEMS[config.stem](2 * config.latent_channels, config.patch, config.dim, config.stem_width)
        self.register_buffer("places", sincos_2d(rows, columns, config.dim), persistent=False)  # (P, D)
        self.blocks = nn.ModuleList(AdaLNBlock(config.dim, config.heads) for _ in range(config.depth))
        self.norm = nn.LayerNorm(config.dim, elementwise_affine=False, eps=1e-6)
        self.modulation = nn.Sequential(nn.SiLU(), zero_linear(config.dim, 2 * config.dim))
        self.head = HEADS[config.stem](config.dim, config.patch, config.latent_channels, config.stem_width)
        self.proprio = zero_linear(config.dim, config.condition.proprio_dim)
        self.error = nn.Linear(config.dim, 1)

    def condition(self, history: History, actions: Tensor) -> TransformerContext:
        """See `WorldModel.condition`."""
        keep = self.config.context_frames
        history = History(
            history.latents[:, -keep:],
            history.proprio[:, -keep:],
            history.actions[:, max(0, history.actions.shape[1] - keep + 1) :],
            history.valid[:, -keep:],
        )
        last = history.proprio[:, -1:]
        reference = last.expand(-1, actions.shape[1], -1)
        condition = self.condition_frames.future(actions, reference, history.valid[:, -1:])
        past: list[Past] = []
        if self.config.order == "causal":
            clean = self._clean_condition(history)
            levels = torch.zeros_like(history.proprio[..., 0])
            length = history.latents.shape[1]
            causal = torch.ones(length, length, dtype=torch.bool, device=levels.device).tril()
            self._run(history.latents, history.latents, levels, clean, 0, causal, keep=past)
        return TransformerContext(history, condition, reference, tuple(past))

    def denoise(self, noisy: Tensor, noise_level: Tensor, context: TransformerContext) -> Denoised:
        """See `WorldModel.denoise`; in causal order n is 1."""
        history, count = context.history, noisy.shape[1]
        last = history.latents[:, -1:].expand(-1, count, -1, -1, -1)
        if self.config.order == "causal":
            length = history.latents.shape[1]
            out = self._run(noisy, last, noise_level, context.condition, length, None, context.past)
        else:
            before = history.latents.shape[1]
            out = self._run(
                torch.cat([history.latents, noisy], dim=1),
                torch.cat([history.latents, last], dim=1),
                torch.cat([torch.zeros_like(history.proprio[..., 0]), noise_level], dim=1),
                torch.cat([self._clean_condition(history), context.condition], dim=1),
                0,
            )
            out = tuple(o[:, before:] for o in out)
        return self._estimate(out, noisy, last, noise_level, context.reference)

    def loss(self, clip: Clip, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """MSE of the clean estimate on the frames that are not history, proprio and error heads."""
        first = self.config.context_frames if self.config.order == "chunk" else 1
        target = clip.latents[:, first:]
        batch, count = target.shape[:2]
        shape = (batch, 1) if self.config.order == "chunk" else (batch, count)
        levels = draw_levels(shape, self.config.noise, generator, target.device).expand(batch, count)
        noisy = add_noise(target, draw_noise(target, generator), levels)
        if self.config.order == "chunk":
            made = self.denoise(noisy, levels, self.condition(clip.history(0, first), clip.actions[:, first - 1 :]))
        else:
            made = self._causal_parallel(clip, noisy, levels)
        wanted = clip.valid[:, first:].float()
        wanted = wanted / wanted.sum()
        squared = channel_error(made.latents, target, self.config.channel_weights)  # (B, n)
        proprio = ((made.proprio.float() - clip.proprio[:, first:]) / STEP_SCALE).abs().clamp(max=25).mean(-1)
        error = (made.log_error.float() - squared.detach().clamp_min(1e-8).log()).square()
        latent, proprio, error = ((wanted * x).sum() for x in (squared, proprio, error))
        logs = {"latent": latent.detach(), "proprio": proprio.detach(), "log_error": error.detach()}
        return 10 * latent + 0.05 * proprio + 0.01 * error, logs

    def _causal_parallel(self, clip: Clip, noisy: Tensor, levels: Tensor) -> Denoised:
        """All frames after the first, each from the clean frames before it."""
        past = clip.history(0, clip.latents.shape[1] - 1)
        clean, count = past.latents, noisy.shape[1]
        reference = past.proprio
        condition = self.condition_frames.future(clip.actions, reference, past.valid)
        index = torch.arange(count, device=noisy.device)
        shown = torch.cat([index, index])  # clean frame i, then noisy frame i + 1
        is_noisy = torch.cat([torch.zeros_like(index), torch.ones_like(index)]).bool()
        sees_clean = (~is_noisy)[None] & (shown[None] <= shown[:, None])
        mask = sees_clean | torch.eye(2 * count, dtype=torch.bool, device=noisy.device)
        times = torch.cat([index, index + 1])
        out = self._run(
            torch.cat([clean, noisy], dim=1),
            torch.cat([clean, clean], dim=1),
            torch.cat([torch.zeros_like(levels), levels], dim=1),
            torch.cat([self._clean_condition(past), condition], dim=1),
            times,
            mask,
        )
        out = tuple(o[:, count:] for o in out)
        return self._estimate(out, noisy, clean, levels, reference)

    def _clean_condition(self, history: History) -> Tensor:
        return self.condition_frames.past(history)

    def _run(
        self,
        frames: Tensor,
        beside: Tensor,
        levels: Tensor,
        condition: Tensor,
        times: int | Tensor,
        mask: Tensor | None = None,
        past: tuple[Past, ...] | None = None,
        keep: list[Past] | None = None,
    ) -> tuple[Tensor, ...]:
        """``frames`` and ``beside`` ``(B, L, C, U, V)``; latents, proprio change and log error, frame by frame.

        ``times``: first frame index or ``(L,)`` indices; ``past``: keys and values in front of the temporal blocks.
        """
        batch, length = frames.shape[:2]
        condition = condition + self.noise_level(levels)  # (B, L, D)
        tokens, skip = self.stem(torch.cat([frames, beside], dim=2).flatten(0, 1))  # (B L, P, D)
        tokens = tokens + self.places
        index = times + torch.arange(length) if isinstance(times, int) else times.cpu()
        clock = sincos_1d(int(index.max()) + 1, self.config.dim)[index].to(tokens)  # (L, D)
        x = rearrange(tokens, "(b l) p d -> b l p d", b=batch)
        for k, block in enumerate(self.blocks):
            if k % 2 == 0:  # within a frame
                x, _ = block(x, condition[:, :, None])
                continue
            x = x + clock[:, None] if k == 1 else x
            x = rearrange(x, "b l p d -> b p l d")
            x, own = block(x, condition[:, None], mask, past[k // 2] if past else None)
            if keep is not None:
                keep.append(own)
            x = rearrange(x, "b p l d -> b l p d")
        shift, scale = self.modulation(condition).chunk(2, dim=-1)  # (B, L, D)
        x = modulate(self.norm(x), shift[:, :, None], scale[:, :, None])
        latents = self.head(x.flatten(0, 1), skip, self.config.grid)
        pooled = x.mean(dim=2)
        out = rearrange(latents, "(b l) c u v -> b l c u v", b=batch)
        return out, self.proprio(pooled), self.error(pooled.detach())[..., 0]

    def _estimate(
        self, out: tuple[Tensor, ...], noisy: Tensor, last: Tensor, levels: Tensor, reference: Tensor
    ) -> Denoised:
        latents, change, log_error = (o.float() for o in out)
        s = levels[:, :, None, None, None]
        clean = noisy - s * latents if self.config.prediction == "v" else last + latents
        return Denoised(clean, reference + STEP_SCALE * change, log_error)
