"""Form e for whole chunks: all frames are foreseen first, then drawn side by side, for none looks at another."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import torch
from einops import rearrange
from torch import Tensor

from world_model.diffusion.flow import draw_noise
from world_model.interface import Clip, Denoised, History
from world_model.models.anchor import Anchor, Context
from world_model.models.key_points import KeyPointNet
from world_model.models.lesson import Lesson, Places
from world_model.models.step_condition import last_frames
from world_model.models.unet import Added


@dataclass(frozen=True)
class Frames:
    """n frames after ``known`` ones: as `Context`, with a second axis where a number is foreseen of each frame."""

    anchor: Anchor  # (B, ...)
    condition: Tensor  # (B, n, D)
    proprio: Tensor  # (B, n, P)
    state: Tensor  # (B, n, S)
    doubt: Tensor  # (B, n, 1)
    known: ClassVar[int] = 1

    @classmethod
    def one(cls, context: Context) -> Frames:
        """Of a single frame."""
        told = (context.condition, context.proprio, context.state, context.doubt)
        return cls(context.anchor, *(t[:, None] for t in told))

    def flat(self) -> Context:
        """Frame by frame, ``(B n, ...)``."""
        count = self.state.shape[1]
        anchor = Anchor(*(getattr(self.anchor, f.name).repeat_interleave(count, dim=0) for f in fields(Anchor)))
        return Context(anchor, *(t.flatten(0, 1) for t in (self.condition, self.proprio, self.state, self.doubt)))


class KeyPointVideo(KeyPointNet):
    """`WorldModel` that generates any number of frames at once, and a `Backbone`; its weights are a `KeyPointNet`'s."""

    frames_per_call: ClassVar[int] = 0  # type: ignore[misc]
    chunk: ClassVar[int] = 16

    @property
    def injected(self) -> tuple[tuple[int, int], ...]:
        """See `Backbone.injected`: the drawer's blocks."""
        return self.config.unet.injected

    def condition(self, history: History, actions: Tensor) -> Frames:  # type: ignore[override]
        """See `WorldModel.condition`; rows without memory take the last frame as their anchor."""
        anchor = self._recall(history)
        steps = self.foresee(last_frames(history, self.config.step.history), actions, anchor.state, anchor.doubt)
        names = ("condition", "proprio", "state", "doubt")
        return Frames(anchor, *(torch.stack([getattr(step, name) for step in steps], dim=1) for name in names))

    def denoise(self, noisy: Tensor, noise_level: Tensor, context: Frames, **further: Any) -> Denoised:  # type: ignore[override]
        """See `Backbone.denoise`."""
        batch, count = noisy.shape[:2]
        added = further.get("added")
        joining = None if added is None else self._joining(added, count)
        one = context.flat()
        made, log_error = self.draw(noisy.flatten(0, 1), noise_level.flatten(), one, joining)
        log_error = torch.logaddexp(log_error, self.doubt.latent_error(one.doubt.exp()).log())
        memory = self._remember(replace(one.anchor, state=one.state, doubt=one.doubt))
        made, memory = (x.reshape(batch, count, *x.shape[1:]) for x in (made, memory))
        return Denoised(made, context.proprio, log_error.reshape(batch, count), memory)

    def lesson(
        self, side: Clip, places: Places, generator: torch.Generator | None = None, misread: Tensor | None = None
    ) -> Lesson:
        """See `Backbone.lesson`."""
        lesson = self._lesson(side, places, generator, misread)
        return replace(lesson, context=Frames.one(lesson.context))

    def as_used(self, side: Clip, places: Places, lesson: Lesson) -> Frames:
        """See `Backbone.as_used`: from each window's first frames on, the state read from the last of them."""
        count = self.config.step.history
        assert places.targets is not None
        read = self.look(side.latents[:, count - 1], side.proprio[:, count - 1])
        steps = self.foresee(side.history(0, count), side.actions[:, count - 1 :], read.state, read.doubt)
        row, frame = places.rows, places.targets - count

        def foreseen(name: str) -> Tensor:
            return torch.stack([getattr(step, name) for step in steps], dim=1)[row, frame][:, None]

        return replace(lesson.context, **{n: foreseen(n) for n in ("condition", "proprio", "state", "doubt")})

    def asked(self, side: Clip, most: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Changes of the starts ``(B, S)`` and of the actions ``(B, 1, a, A)``, of deviations up to ``most``."""
        start, action = self._true_state(side)[:, 0], side.actions[:, :1]
        degree = most * torch.rand(len(start), 1, generator=generator, device=generator.device).to(start.device)
        return degree * draw_noise(start, generator), degree[..., None, None] * draw_noise(action, generator)

    def foreseen_motion(self, side: Clip, asked: tuple[Tensor, Tensor]) -> Tensor:
        """Changes ``(B, n, P + S)`` from frame to frame of all numbers foreseen, from starts and actions so changed."""
        count, (offset, pushed) = self.config.step.history, asked
        now = self._true_state(side)[:, count - 1]
        now = self.foreseer.keep_rigid(now, now + offset)
        first = torch.cat([side.proprio[:, count - 1], now], dim=-1)
        steps = self.foresee_clip(side, now, pushed)
        return torch.stack([first, *(torch.cat([s.proprio, s.state], dim=-1) for s in steps)], dim=1).diff(dim=1)

    def _joining(self, added: Added, count: int) -> Added:
        """What joins the maps of the new frames ``(B n, D, U', V')``: of the known ones nothing is drawn again."""
        sides = [side for _, side in self.injected]

        def joining(block: int) -> Tensor | None:
            cells = added(block)
            if cells is None:
                return None
            rows = self.config.grid[0] // sides[block]
            return rearrange(cells[:, -count:], "b n (u v) d -> (b n) d u v", u=rows)

        return joining
