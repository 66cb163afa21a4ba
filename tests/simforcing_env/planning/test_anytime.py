"""Planning against a clock that only the world's and the policy's work moves."""

import numpy as np
import pytest
import torch

from simforcing_env.planning.anytime import BLOCK, Budget
from simforcing_env.planning.scoring import ScoreConfig
from simforcing_env.planning.streams import Streams
from tests.simforcing_env.planning.line import LineFutures, LineWorld, NearGoal
from tests.world_model.tiny import tiny_contract

FRAME, STEP = 0.001, 0.002  # seconds of a candidate's frame, and of a candidate's denoising step


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class SlowFutures(LineFutures):
    def step(self, actions):
        self.world.clock.now += FRAME * actions.shape[1] * actions.shape[2] * self.world.pace()
        seen = super().step(actions)
        return type(seen)(**{**vars(seen), "frames": np.zeros((*actions.shape[:3], 16, 16, 3), np.uint8)})


class SlowWorld(LineWorld):
    def __init__(self, clock, pace=lambda: 1.0):
        super().__init__(rows=1)
        self.clock, self.pace = clock, pace

    def branch(self, count, share_noise=True):
        return SlowFutures(self, self.rows, count, share_noise)


class SlowPolicy:
    """Proposes anything, and takes a while for each step."""

    contract, horizon, sample_steps, reads_state = tiny_contract(), 4, 4, 0
    name = hash = "slow"

    def __init__(self, clock):
        self.clock = clock

    def see(self, observation):
        return torch.zeros(len(observation["proprio"]), 2)

    def chunks(self, sight, noise, steps=None):
        self.clock.now += STEP * noise.shape[0] * noise.shape[1] * (steps or 4)
        return noise.clamp(-1, 1)


def budget(clock):
    config = ScoreConfig(length=4, continuations=1, penalty=0.0, last=1)
    return Budget(SlowPolicy(clock), NearGoal(), config, clock)


SEEN = {"proprio": np.zeros((1, 2), np.float32)}


def test_richer_settings_are_chosen_as_time_allows():
    clock = Clock()
    planner, world = budget(clock), SlowWorld(clock)
    planner.measure(SEEN, world)
    costs = [planner.paces[s].worst for s in planner.settings]
    # By hand: 10 candidates, 4 steps and 4 frames, twice; once; 2 steps; 1 step and 2 frames.
    assert costs == pytest.approx([0.24, 0.12, 0.08, 0.04])
    counts = {}
    for seconds in (0.0, 0.1, 0.22, 0.33, 0.7, 3.0):
        began = clock.now
        plan = planner.plan(SEEN, world, Streams([0], 0), began + seconds)
        spent = clock.now - began
        assert spent <= max(1.1 * seconds, STEP + 1e-9)
        counts[seconds] = plan.candidates.shape[1]
    assert counts[0.0] == 1  # the policy's own choice, unseen
    assert counts[0.1] == 2 * BLOCK  # of the quickest setting
    assert counts[3.0] >= 11 * BLOCK  # 3 / 0.24, less the slack
    assert counts[0.7] == 2 * BLOCK  # of the best setting


def test_without_measurements_the_quickest_is_taken():
    clock = Clock()
    planner, world = budget(clock), SlowWorld(clock)
    planner.plan(SEEN, world, Streams([0], 0), 1.0)
    assert list(planner.paces) == [planner.settings[-1]]


def test_it_does_not_overrun_when_the_machine_is_uneven():
    clock, rng = Clock(), np.random.default_rng(0)
    planner, world = budget(clock), SlowWorld(clock, lambda: float(rng.uniform(0.8, 1.2)))
    planner.measure(SEEN, world)
    for _ in range(20):
        began = clock.now
        planner.plan(SEEN, world, Streams([0], 0), began + 1.0)
        assert clock.now - began <= 1.1
