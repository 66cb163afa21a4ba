"""What a joint student asks of the video model it stands on, whichever that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from world_model.interface import Clip, Denoised, History


@dataclass(frozen=True)
class Places:
    """Which moments of a batch's windows R lessons are about; the same for both sides of pairs."""

    rows: Tensor  # (R,) windows
    anchors: Tensor | None = None  # (R,) frames that are looked at; None: those at the front
    targets: Tensor | None = None  # (R,) frames that are drawn; None: all others

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, lessons: Tensor) -> Places:
        """Some of them."""
        anchors, targets = (None if t is None else t[lessons] for t in (self.anchors, self.targets))
        return Places(self.rows[lessons], anchors, targets)


@dataclass(frozen=True)
class Lesson:
    """One side of pairs: the frames that a model is to restore from noise."""

    context: Any
    before: Tensor  # (R, k, C, U, V) true frames in front of the new ones
    target: Tensor  # (R, n, C, U, V) the new ones
    proprio: Tensor  # (R, n, P) with these
    aside: Any = None
    """What `Backbone.also` needs besides."""


class Backbone(Protocol):
    """A `WorldModel` that a `JointStudent` can be built over."""

    config: Any
    chunk: int

    @property
    def injected(self) -> tuple[tuple[int, int], ...]:
        """Channels of each block that can be told of the simulator, and the side of its cells in latent ones."""

    def condition(self, history: History, actions: Tensor) -> Any:
        """See `WorldModel.condition`; what it returns says in ``known`` how many frames are in front of new ones."""

    def denoise(self, noisy: Tensor, noise_level: Tensor, context: Any, **further: Any) -> Denoised:
        """See `WorldModel.denoise`.

        ``added``, if given, says for each block what joins its cells of known and new frames ``(B, T, cells, D)``.
        """

    def loss(self, clip: Clip, generator: torch.Generator) -> tuple[Tensor, dict[str, Tensor]]:
        """See `WorldModel.loss`: of single clips, as of one domain."""

    def draw_places(self, clip: Clip, generator: torch.Generator) -> Places:
        """Draw the moments of a batch that are learned of."""

    def lesson(
        self, side: Clip, places: Places, generator: torch.Generator | None = None, misread: Tensor | None = None
    ) -> Lesson:
        """What is to be restored at these places.

        Args:
            generator: of what training hides or shakes; nothing is without.
            misread: ``(R,)`` deviation of errors in what is told of where things stand, for models that are told so.
        """

    def as_used(self, side: Clip, places: Places, lesson: Lesson) -> Any:
        """The context of the lesson's new frames when no more than the known ones were seen, as at run time."""

    def also(self, lesson: Lesson, made: Denoised) -> tuple[Tensor, dict[str, Tensor]]:
        """Loss of what else a side teaches, such as to read states, and its parts for the log."""
