"""LeRobot-style policies on environments made with ``observation_keys="lerobot"``.

Such a policy has ``reset()`` and ``select_action(batch) -> (K, A)``, where the batch holds float tensors by LeRobot's
keys: pictures ``(K, 3, H, W)`` in [0, 1] and the state ``(K, P)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from world_model.errors import InputError
from world_model.rules import Is, array_of, follow, shown
from world_model.runtime import DEVICE, resolve_device

OBSERVATION = Is((dict,), "a dict of arrays")


class LeRobotPolicy(Protocol):
    """The two calls that evaluation makes."""

    def reset(self) -> None:
        """Forget the last episode."""

    def select_action(self, batch: dict[str, Any]) -> Tensor:
        """Next action ``(K, A)`` of each episode."""


def policy_batch(observation: dict[str, NDArray[Any]], device: str = "cpu") -> dict[str, Tensor]:
    """A vector environment's observation as LeRobot's policies take it.

    Raises:
        InputError: no dict of arrays, or a device that is not there.
    """
    device = resolve_device(follow(DEVICE, "device", device))
    batch = {}
    for key, value in follow(OBSERVATION, "observation", observation).items():
        array = array_of(f"observation {key!r}", value)
        tensor = torch.from_numpy(array).to(device)
        batch[key] = tensor.movedim(-1, -3).float() / 255 if array.dtype == np.uint8 else tensor.float()
    return batch


@torch.inference_mode()
def select_action(
    policy: LeRobotPolicy,
    observation: dict[str, NDArray[Any]],
    device: str = "cpu",
    words: Mapping[str, list[str]] | None = None,
) -> NDArray[np.float32]:
    """Actions ``(K, A)`` of a policy, in the units that it was trained in; ``words`` join the batch as they are.

    Raises:
        InputError: as `policy_batch`, or the policy answers with something else.
    """
    chosen = policy.select_action({**policy_batch(observation, device), **(words or {})})
    if not isinstance(chosen, Tensor):
        raise InputError(f"the policy's select_action gave {shown(chosen)} but must give a tensor of actions (K, A)")
    actions: NDArray[np.float32] = chosen.float().cpu().numpy()
    return actions
