"""Classifier-free guidance: away from what a model says when it does not know the actions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from torch import Tensor

from world_model.errors import InputError
from world_model.interface import Denoised, History, Sampler, WorldModel
from world_model.registry import build, to_dict
from world_model.rules import Number, settle


class Guided:
    """`WorldModel` whose clean estimate is ``free + scale (told - free)``; ``free`` knows no actions.

    Estimates of clean frames, of noise and of velocity at one noisy frame are affine in each other, so guiding one of
    them is guiding all.

    Raises:
        InputError: ``model`` cannot leave out its actions.
    """

    frames_per_call: ClassVar[int] = 0

    def __init__(self, model: Any, scale: float) -> None:
        if not hasattr(model, "unconditioned"):
            raise InputError(
                f"guidance is {scale:g} but {type(model).__name__} was not trained without actions; use guidance 1"
            )
        self.model, self.scale = model, scale

    def condition(self, history: History, actions: Tensor) -> tuple[Any, Any]:
        """See `WorldModel.condition`."""
        return self.model.condition(history, actions), self.model.unconditioned(history, actions)

    def denoise(self, noisy: Tensor, noise_level: Tensor, context: tuple[Any, Any]) -> Denoised:
        """See `WorldModel.denoise`; proprio and error are those of the actions."""
        told, free = (self.model.denoise(noisy, noise_level, one) for one in context)
        return replace(told, latents=free.latents + self.scale * (told.latents - free.latents))


@dataclass(frozen=True)
class GuidedConfig:
    """Another sampler, and how far it goes: 0 without actions, 1 plain, more than 1 beyond."""

    sampler: dict[str, Any]
    """``{"kind": ..., **fields}`` of the sampler that does the steps."""
    scale: float = 1.5

    def __post_init__(self) -> None:
        settle(self, {"scale": Number(0, 100)})


class GuidedSampler:
    """Any sampler over the guided model; each of its steps calls the network twice."""

    def __init__(self, config: GuidedConfig) -> None:
        from world_model.diffusion import SAMPLERS

        self.config = config
        self.inner: Sampler = build(SAMPLERS, config.sampler, "the guided sampler")
        self.steps = self.inner.steps

    def with_steps(self, steps: int) -> GuidedSampler:
        """The same sampler with another number of steps."""
        from world_model.diffusion import SAMPLERS

        return GuidedSampler(replace(self.config, sampler=to_dict(SAMPLERS, self.inner.with_steps(steps))))

    def sample(self, model: WorldModel, history: History, actions: Tensor, noise: Callable[[int], Tensor]) -> Denoised:
        plain = self.config.scale == 1
        return self.inner.sample(model if plain else Guided(model, self.config.scale), history, actions, noise)  # type: ignore[arg-type]


def guided(sampler: Sampler, model: WorldModel, scale: float) -> Sampler:
    """``sampler`` with guidance ``scale`` in place of its own.

    Raises:
        InputError: ``model`` cannot leave out its actions, and ``scale`` is not 1.
    """
    from world_model.diffusion import SAMPLERS

    inner = sampler.inner if isinstance(sampler, GuidedSampler) else sampler
    if scale == 1:
        return inner
    Guided(model, scale)  # refuses models that need their actions
    return GuidedSampler(GuidedConfig(to_dict(SAMPLERS, inner), scale))
