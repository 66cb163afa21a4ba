"""Guidance by the simulator at run time: ``v = v_off + w (v_on - v_off)``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

from torch import Tensor

from world_model.interface import Denoised, History


class Steered:
    """`WorldModel` that sees the simulator's latents ``sim`` ``(B, h + n, C, U, V)`` with the weight ``guidance``.

    At 1 there is one, conditioned, pass a step; at 0 one that is not told; at any other weight there are both. Clean
    estimates at one noisy frame are affine in velocities, so guiding these is guiding those.
    """

    frames_per_call: ClassVar[int] = 0

    def __init__(self, model: Any, sim: Tensor, guidance: float) -> None:
        self.model, self.sim, self.guidance = model, sim, guidance

    def condition(self, history: History, actions: Tensor) -> tuple[Any, Any]:
        """See `WorldModel.condition`: contexts that are told of the simulator and that are not, None if not needed."""
        on = None if self.guidance == 0 else self.model.condition_on(history, actions, self.sim)
        off = None if self.guidance == 1 else self.model.condition(history, actions)
        return on, off

    def denoise(self, noisy: Tensor, noise_level: Tensor, context: tuple[Any, Any]) -> Denoised:
        """See `WorldModel.denoise`; proprio and error are those of the conditioned pass where there is one."""
        on, off = (None if one is None else self.model.denoise(noisy, noise_level, one) for one in context)
        if on is None or off is None:
            made: Denoised = on if on is not None else off  # type: ignore[assignment]  # one of them is there
            return made
        return replace(on, latents=off.latents + self.guidance * (on.latents - off.latents))
