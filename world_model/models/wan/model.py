"""`WanVideo`: the two experts as a `VideoDiffusion`, and so a `WorldModel` (specification 3.1 and 4)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from world_model.errors import InputError
from world_model.interface import Denoised, History
from world_model.models.video_diffusion import Answer, Context, VideoDiffusion
from world_model.models.wan.block import KeysValues, Words
from world_model.models.wan.config import WanConfig
from world_model.models.wan.experts import ActionExpert, Added, VideoExpert


class WanTold(NamedTuple):
    """What does not depend on the noisy frames, computed once a generation."""

    words: Words
    actions: list[KeysValues]
    known: int  # frames


class WanVideo(VideoDiffusion):
    """Known frames have time 0 and see each other and the actions; new ones see all; actions see only each other.

    So the actions' keys and values are the same at every step of a generation. Of withheld actions zeros are told, as
    in published training. Latents are of ``1 + k`` frames for actions of ``1 + k stride`` video frames.
    """

    config: WanConfig
    text: Tensor  # (text_tokens, text_dim)

    def __init__(self, config: WanConfig) -> None:
        super().__init__(config, config.dim)
        self.video = VideoExpert(config)
        self.action = ActionExpert(config) if config.action_width else None
        text_dim = config.whole["text_dim"]
        self.told_proprio = nn.Linear(config.told_proprio, text_dim) if config.told_proprio else None
        self.register_buffer("text", torch.zeros(config.text_tokens, text_dim))

    def set_text(self, text: Tensor) -> None:
        """Keep the embedding ``(L, text_dim)`` of a prompt, L at most ``text_tokens``; zeros fill the rest.

        Raises:
            InputError: it is of another shape.
        """
        if text.ndim != 2 or len(text) > len(self.text) or text.shape[1] != self.text.shape[1]:
            raise InputError(
                f"the prompt's embedding has shape {tuple(text.shape)} but must be (L, {self.text.shape[1]}) with L up "
                f"to {len(self.text)}; embed it anew, or raise text_tokens"
            )
        self.text.zero_()[: len(text)] = text.to(self.text)

    def embed(self, actions: Tensor, real: Tensor, withheld: Tensor) -> Tensor:
        """See `VideoDiffusion.embed`: the actions that are told."""
        return actions * (real & ~withheld[:, None])[..., None]

    def answer(self, frames: Tensor, times: Tensor, told: WanTold, added: Added | None = None) -> Answer:
        """See `VideoDiffusion.answer`; ``added`` says for each block what joins its tokens ``(B, F, P, D)``."""
        return Answer(*self.video(frames, times, told.words, told.actions, told.known, added))

    def denoise(self, noisy: Tensor, noise_level: Tensor, context: Context, **further: object) -> Denoised:
        """See `WorldModel.denoise`; proprio and error of a latent frame are told for each of its video frames."""
        made, stride = super().denoise(noisy, noise_level, context, **further), self.config.stride
        proprio, error = (part.repeat_interleave(stride, dim=1) for part in (made.proprio, made.log_error))
        return Denoised(made.latents, proprio, error)

    def _context(self, history: History, actions: Tensor, withheld: Tensor) -> Context:
        context = super()._context(history, actions, withheld)
        known = context.history
        text = self.text.expand(len(actions), -1, -1) if history.text is None else history.text
        real = text.abs().amax(dim=-1) > 0  # padding is zero
        if self.told_proprio is None:  # where nothing is told, one token of zeros is seen
            real = torch.cat([real[:, :1] | ~real.any(dim=1, keepdim=True), real[:, 1:]], dim=1)
        else:
            token = self.told_proprio(known.proprio[:, 0])[:, None]
            text = torch.cat([text, token.to(text.dtype)], dim=1)
            real = torch.cat([real, torch.ones_like(real[:, :1])], dim=1)
        keys = [] if self.action is None else self.action(context.told, text, real)
        return Context(known, WanTold(self.video.words(text, real), keys, known.latents.shape[1]))
