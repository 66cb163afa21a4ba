"""What all heads share: values by label, and each task's reward and success among them."""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor, nn

from world_model.errors import InputError
from world_model.interface import Outcome


class LabelConfig(Protocol):
    """What the heads' configs have in common; see `OutcomeConfig`."""

    @property
    def shares(self) -> tuple[str, ...]: ...
    @property
    def events(self) -> tuple[str, ...]: ...
    @property
    def reward(self) -> str: ...
    @property
    def reward_full(self) -> float: ...
    @property
    def success(self) -> str: ...
    @property
    def tasks(self) -> int: ...


class LabelHeads(nn.Module):
    """See `interface.Heads`; ``values`` are ``labels`` in order: the shares, then the events' probabilities."""

    columns: Tensor  # (2, tasks) places of each task's reward and success among the values
    temperature: Tensor  # (events,) fitted on validation data; above 1 softens the probabilities
    reads_state = False
    """Judges the model's state instead of frames."""

    def __init__(self, labels: LabelConfig) -> None:
        super().__init__()
        self._of = labels
        self.labels = (*labels.shares, *labels.events)
        places = [self._column(labels.reward, self.labels), self._column(labels.success, labels.events)]
        self.register_buffer("columns", torch.tensor(places), persistent=False)
        self.register_buffer("temperature", torch.ones(len(labels.events)))

    def forward(self, latents: Tensor, proprio: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """``(N, C, U, V)``, ``(N, P)`` and ``(N, S)`` to shares ``(N, shares)`` and logits ``(N, events)``."""
        raise NotImplementedError

    def outcome(
        self, latents: Tensor, proprio: Tensor, tasks: Tensor | None = None, state: Tensor | None = None
    ) -> Outcome:
        """Calibrated outcome of each frame; ``tasks`` ``(N,)`` are task numbers, 0 without; ``state`` as `forward`'s.

        Raises:
            InputError: a task that the heads do not know.
        """
        shares, logits = self(latents, proprio, state)
        values = torch.cat([shares.clamp(0, 1), (logits / self.temperature).sigmoid()], 1)
        known = max(1, self._of.tasks)
        if tasks is None:
            tasks = torch.zeros(len(values), dtype=torch.int64, device=values.device)
        elif len(tasks) and not 0 <= int(tasks.min()) <= int(tasks.max()) < known:
            raise InputError(f"heads got task {int(tasks.max())} but know 0 to {known - 1}; choose one of these")
        reward, success = values.gather(1, self.columns[:, tasks].T).unbind(1)
        return Outcome((reward / self._of.reward_full).clamp(0, 1), success, values)

    def _column(self, name: str, names: tuple[str, ...]) -> list[int]:
        """Place of a label among the values, for each task."""
        wanted = [name.replace("{task}", str(task)) for task in range(max(1, self._of.tasks))]
        missing = [label for label in wanted if label not in names]
        if missing:
            raise InputError(
                f"heads take reward {self._of.reward!r} and success {self._of.success!r} but predict shares "
                f"{self._of.shares} and events {self._of.events}; {missing[0]!r} is missing, name one of them"
            )
        return [self.labels.index(label) for label in wanted]
