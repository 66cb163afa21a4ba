"""Inverse dynamics: which action led from one frame to the next, read by a small network trained on true pairs.

Where the actions that are read from generated frames are those that were asked for, the frames obey them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from world_model.contract import Contract
from world_model.data.episode import Episode
from world_model.errors import InputError
from world_model.rules import Number, Whole, settle


@dataclass(frozen=True)
class InverseConfig:
    """Shape of the network and how it is trained."""

    width: int = 32
    """Channels of its first layer."""
    side: int = 64
    """Height in pixels that taller pictures are averaged down to, as far as whole pixels go."""
    steps: int = 2000
    """Training steps."""
    batch: int = 64
    """Pairs a step."""
    learning_rate: float = 2e-3
    """Peak of a cosine schedule."""

    def __post_init__(self) -> None:
        settle(
            self,
            {
                "width": Whole(1, 1024),
                "side": Whole(8, 1024),
                "steps": Whole(1, 10**7),
                "batch": Whole(1, 10**5),
                "learning_rate": Number(1e-8, 1.0),
            },
        )


class InverseNet(nn.Module):
    """Pairs of frames to the actions between them, in [-1, 1]."""

    def __init__(self, config: InverseConfig, frame: tuple[int, int], actions: tuple[int, int]) -> None:
        super().__init__()
        self.actions = actions
        self.factor = max(1, frame[0] // config.side)
        width = config.width
        layers: list[nn.Module] = []
        for inputs, outputs, size in ((6, width, 5), (width, 2 * width, 3), (2 * width, 2 * width, 3)):
            layers += [nn.Conv2d(inputs, outputs, size, 2, size // 2), nn.SiLU()]
        self.features = nn.Sequential(*layers, nn.Flatten())
        height, across = (-(-(side // self.factor) // 8) for side in frame)
        self.head = nn.Sequential(
            nn.Linear(2 * width * height * across, 4 * width), nn.SiLU(), nn.Linear(4 * width, actions[0] * actions[1])
        )

    def forward(self, before: Tensor, after: Tensor) -> Tensor:
        """``(N, H, W, 3)`` uint8 twice to ``(N, a, A)``."""
        a, b = (functional.avg_pool2d(f.movedim(-1, 1).float() / 127.5 - 1, self.factor) for f in (before, after))
        read: Tensor = self.head(self.features(torch.cat([b, 4 * (b - a)], 1)))
        return read.reshape(-1, *self.actions)


def fit_inverse(
    episodes: Sequence[Episode],
    contract: Contract,
    config: InverseConfig,
    seed: int,
    progress: Callable[[int], None] = lambda step: None,
) -> InverseNet:
    """Train on neighbouring true frames of whole episodes.

    Raises:
        InputError: no pair of frames.
    """
    pairs = [(number, row) for number, episode in enumerate(episodes) for row in range(len(episode) - 1)]
    if not pairs:
        raise InputError(f"{len(episodes)} episodes hold no two frames in a row; give training episodes")
    generator = np.random.default_rng(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        frame = episodes[0].frames.shape[1:3]
        network = InverseNet(config, (frame[0], frame[1]), (contract.actions_per_frame, contract.action_dim))
    optimizer = torch.optim.AdamW(network.parameters(), lr=config.learning_rate, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, config.steps)
    for step in range(config.steps):
        chosen = [pairs[i] for i in generator.integers(0, len(pairs), config.batch)]
        before, after = (
            torch.from_numpy(np.stack([episodes[n].frames[row + shift] for n, row in chosen])) for shift in (0, 1)
        )
        actions = contract.normalize_actions(np.stack([episodes[n].actions[row] for n, row in chosen]))
        loss = functional.smooth_l1_loss(network(before, after), torch.from_numpy(actions), beta=0.1)
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        schedule.step()
        progress(step + 1)
    return network.eval().requires_grad_(False)


@torch.inference_mode()
def recover_actions(
    network: InverseNet, contract: Contract, frames: NDArray[np.uint8], batch: int = 256
) -> NDArray[np.float64]:
    """Actions ``(B, n, a, A)`` in the contract's units between frames ``(B, n + 1, H, W, 3)`` uint8."""
    count, length = len(frames), frames.shape[1] - 1
    before, after = (
        torch.from_numpy(np.ascontiguousarray(part).reshape(-1, *frames.shape[2:]))
        for part in (frames[:, :-1], frames[:, 1:])
    )
    read = torch.cat([network(before[i : i + batch], after[i : i + batch]) for i in range(0, len(before), batch)])
    low, high = np.asarray(contract.normalizer.action_low), np.asarray(contract.normalizer.action_high)
    units: NDArray[np.float64] = (read.double().numpy() + 1) / 2 * (high - low) + low
    return units.reshape(count, length, *network.actions)


def r_squared(read: NDArray[np.floating], asked: NDArray[np.floating]) -> float | None:
    """Share of the variance of ``(N, A)`` asked actions that ``read`` ones explain: 1 is exact, 0 is their mean.

    The mean over the dimensions that vary; None where none does.
    """
    truth = np.asarray(asked, np.float64)
    spread = np.square(truth - truth.mean(0)).sum(0)
    varying = spread > 1e-9 * max(len(truth), 1)
    if not varying.any():
        return None
    return float((1 - np.square(read - truth).sum(0)[varying] / spread[varying]).mean())
