"""What a diffusion policy sees of a scene in space: key points that a reader finds in all cameras, and the task."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from world_model import registry
from world_model.codecs import CODECS
from world_model.errors import InputError
from world_model.models.forecast import ForecastConfig, SceneReader
from world_model.models.key_points import KeyPointNet
from world_model.models.unet import Encoder, UNetConfig
from world_model.pretrained import LearnedSimulator
from world_model.rules import Whole, settle
from world_model.training.state_encoding import SceneEncoding

FARTHEST = 1.5  # a key point that is read is kept within so much of the scene, whose ends are -1 and 1


@dataclass(frozen=True)
class SceneEyesConfig:
    """Sizes of the reader, what it reads, and how many tasks there are."""

    tasks: int
    codec: dict[str, Any]
    """Registry form of the codec through which pictures are seen."""
    channels: int
    grid: tuple[int, int]
    unet: UNetConfig
    forecast: ForecastConfig
    condition_dim: int
    proprio_dim: int
    encoding: SceneEncoding

    def __post_init__(self) -> None:
        size = Whole(1, 65_536)
        settle(self, dict.fromkeys(("tasks", "channels", "condition_dim", "proprio_dim"), size))
        if self.encoding.dim != self.forecast.state_dim:
            raise InputError(
                f"the reader gives {self.forecast.state_dim} numbers but the encoding has {self.encoding.dim}; "
                "take the encoding that it was trained with"
            )


class SceneEyes(nn.Module):
    """Proprio, then key points and joints about [-1, 1], then 1 for the episode's task and 0 for the others.

    The reader is a convolutional network that a world model was trained with (`scene_eyes`); it is not trained further.
    """

    reads_points = True
    frozen = True

    def __init__(self, config: SceneEyesConfig) -> None:
        super().__init__()
        self.config = config
        self.state_dim = config.encoding.dim
        self.dim = config.proprio_dim + self.state_dim + config.tasks
        self.codec: Any = registry.build(CODECS, config.codec, "codec of the eyes")
        self.encode_condition = nn.Parameter(torch.zeros(config.condition_dim))
        self.encoder = Encoder(config.unet, config.channels, config.condition_dim)
        unet = config.unet
        self.reader = SceneReader(config.forecast, unet.width, unet.deep_width, config.grid, config.proprio_dim)

    def forward(self, frames: Tensor, proprio: Tensor, tasks: Tensor | None = None) -> Tensor:
        """Canvases ``(B, H, W, 3)`` uint8, ``proprio`` ``(B, P)`` in [-1, 1] and ``tasks`` ``(B,)`` to ``(B, dim)``."""
        condition = F.silu(self.encode_condition).expand(len(frames), -1)
        features, deep = self.encoder(self.codec.encode(frames), condition)
        state = self.reader(features, deep, proprio).clamp(-FARTHEST, FARTHEST)
        return self.of_state(proprio, state, tasks)

    def of_state(self, proprio: Tensor, state: Tensor, tasks: Tensor | None = None) -> Tensor:
        """The same of proprio ``(B, P)`` and key points ``(B, S)``."""
        if tasks is None:
            raise InputError("these eyes are told the task of each episode but none came; reset the policy with tasks")
        if int(tasks.max()) >= self.config.tasks:
            raise InputError(f"task {int(tasks.max())} is unknown; the policy learned {self.config.tasks} of them")
        told = F.one_hot(tasks, self.config.tasks).to(proprio)
        return torch.cat([proprio, state.to(proprio), told], dim=1)

    def points_of(self, states: NDArray[np.floating], names: Any) -> NDArray[np.float32]:
        """Recorded states ``(T, columns)``, named ``names``, as they are read from pictures."""
        return self.config.encoding.encode(states, names)


def scene_eyes(simulator: LearnedSimulator, encoding: SceneEncoding, tasks: int) -> SceneEyes:
    """Eyes with a copy of the reader of a world model.

    Raises:
        InputError: a model that reads no scene.
    """
    model = simulator.model
    if not isinstance(model, KeyPointNet) or not isinstance(model.reader, SceneReader):
        raise InputError(
            f"checkpoint {simulator.hash} is a {type(model).__name__}, which reads no scene; give one of a LIBERO suite"
        )
    known = model.config
    config = SceneEyesConfig(
        tasks=tasks,
        codec=registry.to_dict(CODECS, simulator.codec),
        channels=known.latent_channels,
        grid=known.grid,
        unet=known.unet,
        forecast=known.forecast,
        condition_dim=known.condition_dim,
        proprio_dim=known.step.proprio_dim,
        encoding=encoding,
    )
    eyes = SceneEyes(config)
    eyes.codec.load_state_dict(simulator.codec.state_dict())
    with torch.no_grad():
        eyes.encode_condition.copy_(model.encode_condition)
    for part in ("encoder", "reader"):
        getattr(eyes, part).load_state_dict(getattr(model, part).state_dict())
    return eyes.requires_grad_(False)
