"""Outcome heads: shares (such as coverage) and probabilities of events (such as success) per frame."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from world_model.errors import InputError
from world_model.interface import Outcome
from world_model.models.layers import ResBlock


@dataclass(frozen=True)
class OutcomeConfig:
    """What is read from a frame, how reward and success follow from it, and the net's shape."""

    latent_channels: int = 24
    grid: tuple[int, int] = (16, 16)
    proprio_dim: int = 2
    shares: tuple[str, ...] = ("coverage", "iou")
    """Labels in [0, 1], regressed."""
    events: tuple[str, ...] = ("success_coverage", "success_pose")
    """Labels of 0 or 1, of which the probability is predicted."""
    reward: str = "coverage"
    """The label that the reward is made of."""
    reward_full: float = 0.95
    """Its value at which the reward reaches 1."""
    success: str = "success_coverage"
    """The event that counts as success."""
    tasks: int = 0
    """Tasks of a suite; "{task}" in the names of reward and success stands for the episode's own."""
    width: int = 32
    dilations: tuple[int, ...] = (1, 2)
    """One residual block each."""
    squeeze: int = 12
    """Channels of the map that the readout sees whole, every place with weights of its own."""
    hidden: int = 96


class OutcomeHeads(nn.Module):
    """See `interface.Heads`; ``values`` are ``labels`` in order: the shares, then the events' probabilities."""

    columns: Tensor  # (2, tasks) places of each task's reward and success among the values
    temperature: Tensor  # (events,) fitted on validation data; above 1 softens the probabilities

    def __init__(self, config: OutcomeConfig) -> None:
        super().__init__()
        self.config = config
        self.labels = (*config.shares, *config.events)
        places = [self._column(config.reward, self.labels), self._column(config.success, config.events)]
        self.register_buffer("columns", torch.tensor(places), persistent=False)
        rows, columns = config.grid
        self.stem = nn.Conv2d(config.latent_channels, config.width, 3, padding=1)
        self.blocks = nn.Sequential(*(ResBlock(config.width, d) for d in config.dilations))
        self.squeeze = nn.Conv2d(config.width, config.squeeze, 1)
        self.hidden = nn.Linear(config.squeeze * rows * columns + config.proprio_dim, config.hidden)
        self.readout = nn.Linear(config.hidden, len(self.labels))
        self.register_buffer("temperature", torch.ones(len(config.events)))

    def forward(self, latents: Tensor, proprio: Tensor) -> tuple[Tensor, Tensor]:
        """``(N, C, U, V)`` and ``(N, P)`` to unclipped shares ``(N, shares)`` and untempered logits ``(N, events)``.

        Raises:
            InputError: latents or proprio of another shape.
        """
        wanted = (self.config.latent_channels, *self.config.grid)
        if latents.shape[1:] != wanted or proprio.shape != (len(latents), self.config.proprio_dim):
            raise InputError(
                f"heads got latents {tuple(latents.shape)} and proprio {tuple(proprio.shape)} but take "
                f"{('N', *wanted)} and {('N', self.config.proprio_dim)}; use the codec that they were trained with"
            )
        x = self.blocks(self.stem(latents.contiguous(memory_format=torch.channels_last)))
        seen = functional.silu(self.squeeze(functional.silu(x))).flatten(1)
        hidden = functional.silu(self.hidden(torch.cat([seen, proprio.to(seen.dtype)], 1)))
        shares, logits = self.readout(hidden).float().split([len(self.config.shares), len(self.config.events)], 1)
        return shares, logits

    def outcome(self, latents: Tensor, proprio: Tensor, tasks: Tensor | None = None) -> Outcome:
        """Calibrated outcome of each frame; ``tasks`` ``(N,)`` are task numbers, 0 without.

        Raises:
            InputError: a task that the heads do not know.
        """
        shares, logits = self(latents, proprio)
        values = torch.cat([shares.clamp(0, 1), (logits / self.temperature).sigmoid()], 1)
        known = max(1, self.config.tasks)
        if tasks is None:
            tasks = torch.zeros(len(values), dtype=torch.int64, device=values.device)
        elif len(tasks) and not 0 <= int(tasks.min()) <= int(tasks.max()) < known:
            raise InputError(f"heads got task {int(tasks.max())} but know 0 to {known - 1}; choose one of these")
        reward, success = values.gather(1, self.columns[:, tasks].T).unbind(1)
        return Outcome((reward / self.config.reward_full).clamp(0, 1), success, values)

    def _column(self, name: str, names: tuple[str, ...]) -> list[int]:
        """Place of a label among the values, for each task."""
        wanted = [name.replace("{task}", str(task)) for task in range(max(1, self.config.tasks))]
        missing = [label for label in wanted if label not in names]
        if missing:
            raise InputError(
                f"heads take reward {self.config.reward!r} and success {self.config.success!r} but predict shares "
                f"{self.config.shares} and events {self.config.events}; {missing[0]!r} is missing, name one of them"
            )
        return [self.labels.index(label) for label in wanted]
