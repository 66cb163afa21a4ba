"""A Push-T world with exact rules, and the world model that knows them: the pusher jumps onto its target and the block
follows at a quarter of its way. What an evaluation has to say about such a model is known beforehand."""

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from teachers.pusht.contract import pusht_contract
from teachers.pusht.physics import Pose, PushTState
from teachers.pusht.scoring import score
from teachers.pusht.teacher import PushTTeacher
from tests.world_model.tiny import TinyCodec
from world_model.data.episode import Episode
from world_model.diffusion import EulerConfig, EulerSampler
from world_model.interface import Denoised, History
from world_model.rollout import Rollout

HISTORY = 3


def state_of(target: np.ndarray) -> PushTState:
    x, y = (float(v) for v in target)
    return PushTState(x, y, 150 + x / 4, 150 + y / 4, 0.5 + x / 1000)


class Painter:
    """Frames of the world for targets in px."""

    def __init__(self) -> None:
        self.teacher = PushTTeacher()

    def __call__(self, target: np.ndarray) -> np.ndarray:
        return self.teacher.reset_to_state(state_of(target)).frames["top"]


class PaintedModel(torch.nn.Module):
    """Paints the true next frames; with ``late`` it takes each action a frame too late."""

    frames_per_call: ClassVar[int] = 0

    def __init__(self, late: bool = False) -> None:
        super().__init__()
        self.late, self.paint, self.codec = late, Painter(), TinyCodec()

    def condition(self, history: History, actions: Tensor) -> Any:
        return torch.cat([history.actions[:, -1:], actions[:, :-1]], 1) if self.late else actions

    def denoise(self, noisy: Tensor, noise_level: Tensor, context: Any) -> Denoised:
        targets = (context[:, :, -1].double().numpy() + 1) * 256
        frames = np.stack([[self.paint(t.round(4)) for t in row] for row in targets])
        latents = self.codec.encode(torch.from_numpy(frames))
        return Denoised(latents, context[:, :, -1], torch.zeros(latents.shape[:2]))


def painted_rollout(late: bool = False) -> Rollout:
    return Rollout(
        PaintedModel(late), TinyCodec(), pusht_contract(), EulerSampler(EulerConfig(1)), HISTORY, max_frames=8
    )


def painted_episodes(count: int, length: int = 14, seed: int = 0) -> list[Episode]:
    """Walks of the target, 15 px a frame."""
    generator, paint = np.random.default_rng(seed), Painter()
    episodes = []
    for number in range(count):
        angle = generator.uniform(-np.pi, np.pi)
        way = 15 * np.stack([np.cos(angle), np.sin(angle)]) * np.arange(length)[:, None]
        places = (generator.uniform(220, 290, 2) + way).round(1).astype(np.float32)
        states = [state_of(p) for p in places]
        poses = np.array([[s.block_x, s.block_y, s.angle] for s in states], np.float32)
        goal = np.tile(np.array([256, 256, np.pi / 4], np.float32), (length, 1))
        labels = [score(Pose(s.block_x, s.block_y, s.angle), paint.teacher.goal) for s in states]
        episodes.append(
            Episode(
                np.stack([paint(p) for p in places]),
                places,
                places[1:, None],
                np.concatenate([poses, np.zeros((length, 2), np.float32), goal], 1),
                {k: np.array([one[k] for one in labels], np.float32) for k in labels[0]},
                f"seed-{800_000 + number}",
                "walk",
            )
        )
    return episodes
