"""LeRobot-style policies on environments made with ``observation_keys="lerobot"``.

Such a policy has ``reset()`` and ``select_action(batch) -> (K, A)``, where the batch holds float tensors by LeRobot's
keys: pictures ``(K, 3, H, W)`` in [0, 1] and the state ``(K, P)``.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class LeRobotPolicy(Protocol):
    """The two calls that evaluation makes."""

    def reset(self) -> None:
        """Forget the last episode."""

    def select_action(self, batch: dict[str, Tensor]) -> Tensor:
        """Next action ``(K, A)`` of each episode."""


def policy_batch(observation: dict[str, NDArray[Any]], device: str = "cpu") -> dict[str, Tensor]:
    """A vector environment's observation as LeRobot's policies take it."""
    batch = {}
    for key, value in observation.items():
        tensor = torch.from_numpy(value).to(device)
        batch[key] = tensor.movedim(-1, -3).float() / 255 if value.dtype == np.uint8 else tensor.float()
    return batch


@torch.inference_mode()
def select_action(
    policy: LeRobotPolicy, observation: dict[str, NDArray[Any]], device: str = "cpu"
) -> NDArray[np.float32]:
    """Actions ``(K, A)`` of a policy, in the units that it was trained in."""
    chosen = policy.select_action(policy_batch(observation, device))
    actions: NDArray[np.float32] = chosen.float().cpu().numpy()
    return actions
