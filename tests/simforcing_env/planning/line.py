"""A world in which all is known: the hand jumps onto its target, and the value is minus its distance from a goal."""

import numpy as np

from simforcing_env.planning.scoring import ScoreConfig, Scorer
from simforcing_env.planning.world import Imagined
from tests.world_model.tiny import tiny_contract

GOAL = np.array([70.0, 30.0], np.float32)


class LineFutures:
    def __init__(self, world, rows, count, share_noise):
        self.world, self.shape, self.share_noise = world, (rows, count), share_noise

    def step(self, actions):
        noise = np.zeros(actions.shape, np.float32)
        if self.world.noise:
            rows = 1 if self.share_noise else self.shape[1]
            drawn = self.world.rng.standard_normal((self.shape[0], rows, *actions.shape[2:]), np.float32)
            noise = self.world.noise * np.broadcast_to(drawn, actions.shape)
        places = np.clip(actions + noise, 0, 100)
        # Far from the middle the world is in doubt.
        doubt = (np.abs(places - 50).max(-1) / 50) ** 2
        zeros = np.zeros(doubt.shape, np.float32)
        return Imagined(places, zeros, (self.world.doubt * doubt).astype(np.float32), {"iou": zeros})


class LineWorld:
    contract = tiny_contract()

    def __init__(self, rows=2, noise=0.0, doubt=0.0, seed=0):
        self.rows, self.noise, self.doubt, self.rng = rows, noise, doubt, np.random.default_rng(seed)

    def branch(self, count, share_noise=True):
        return LineFutures(self, self.rows, count, share_noise)


class NearGoal:
    doubt_unit = 100.0

    def __call__(self, seen):
        return -np.linalg.norm(seen.proprio - GOAL, axis=-1)


def line_scorer(penalty=0.0, **world):
    config = ScoreConfig(length=4, continuations=0, penalty=penalty, last=1)
    return Scorer(LineWorld(**world), NearGoal(), None, config)
