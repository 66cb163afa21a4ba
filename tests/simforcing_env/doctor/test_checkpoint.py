"""Learned simulators and true ones, driven by known actions: right ones pass, wrong ones get their verdict."""

import dataclasses

import numpy as np
import pytest
import torch

from simforcing_env.doctor.checkpoint import check_checkpoint, check_driven, contract_finding, probing_actions
from simforcing_env.doctor.finding import faults, report
from simforcing_env.doctor.weights import WEIGHTS
from teachers.pusht.contract import pusht_contract
from teachers.pusht.teacher import PushTTeacher
from tests.world_model.tiny import SIZE, TinyCodec, TinyHeads, TinyModel, tiny_contract
from world_model.contract import Camera
from world_model.diffusion import RenoiseConfig, RenoiseSampler
from world_model.interface import Denoised
from world_model.pretrained import LearnedSimulator, Starts

PUSHT = pusht_contract()


class TeacherDriver:
    """True Push-T episodes side by side, as a learned simulator would be driven."""

    def __init__(self, count=12):
        self.teachers = [PushTTeacher() for _ in range(count)]
        first = [teacher.reset(f"seed-{800_000 + i}") for i, teacher in enumerate(self.teachers)]
        self.frames = np.stack([observation.frames["top"] for observation in first])
        self.proprio = np.stack([observation.proprio for observation in first])

    def __call__(self, actions):
        rows = [
            [teacher.step(action).observation for action in episode]
            for teacher, episode in zip(self.teachers, actions, strict=True)
        ]
        frames = np.stack([[o.frames["top"] for o in row] for row in rows])
        return frames, np.stack([[o.proprio for o in row] for row in rows])


def driven(before=lambda a: a, after=lambda f: f, start=lambda f: f):
    driver = TeacherDriver()

    def advance(actions):
        frames, proprio = driver(before(actions))
        return after(frames), proprio

    return check_driven(advance, start(driver.frames), driver.proprio, PUSHT)


def test_a_simulator_that_does_as_told_passes():
    findings = driven()
    assert faults(findings) == [], report("", findings)
    assert {f.check for f in findings if f.status == "ok"} >= {"image orientation", "action shift", "action sign"}


WRONG = {
    "x backwards": (dict(before=lambda a: a * [-1, 1] + [512, 0]), "action sign"),
    "one action late": (dict(before=lambda a: np.concatenate([a[:, :1], a[:, :-1]], axis=1)), "action shift"),
    "one action early": (dict(before=lambda a: np.concatenate([a[:, 1:], a[:, -1:]], axis=1)), "action shift"),
    "deaf": (dict(before=lambda a: np.random.default_rng(0).permuted(a, axis=1)), "action effect"),
    "upside down": (dict(after=lambda f: f[:, :, ::-1], start=lambda f: f[:, ::-1]), "image orientation"),
    "pictures late": (dict(after=lambda f: np.concatenate([f[:, :1], f[:, :-1]], axis=1)), "frame shift"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_simulator_that_does_otherwise_gets_its_verdict(name):
    changes, check = WRONG[name]
    findings = driven(**changes)
    assert faults(findings) == [check], report(name, findings)


def tiny(model, contract=None):
    contract = contract or tiny_contract()
    generator = np.random.default_rng(0)
    starts = Starts(
        tuple(f"seed-{i}" for i in range(8)),
        generator.integers(0, 256, (8, SIZE, SIZE, 3), dtype=np.uint8),
        generator.uniform(20, 80, (8, 2)).astype(np.float32),
    )
    return LearnedSimulator(
        model=model.eval(),
        codec=TinyCodec(),
        heads=TinyHeads(),
        contract=contract,
        sampler=RenoiseSampler(RenoiseConfig()),
        history=2,
        starts=starts,
    )


class Turned(TinyModel):
    """Its y goes the wrong way."""

    def denoise(self, noisy, noise_level, context):
        right = super().denoise(noisy, noise_level, context)
        return Denoised(right.latents, right.proprio * torch.tensor([1.0, -1.0]), right.log_error)


def test_a_learned_simulator_is_driven_from_its_starts():
    findings = check_checkpoint(tiny(TinyModel()))
    assert faults(findings) == [], report("", findings)
    assert next(f for f in findings if f.check == "action shift").status == "ok"
    findings = check_checkpoint(tiny(Turned()))
    assert faults(findings) == ["action sign"]
    assert "y moves against" in next(f.mend for f in findings if f.status == "fault")


def test_the_contract_is_held_against_the_teachers():
    assert contract_finding(tiny(TinyModel(), PUSHT)).status == "ok"
    assert contract_finding(tiny(TinyModel())).status == "note"
    foreign = dataclasses.replace(PUSHT, control_hz=20.0)
    finding = contract_finding(tiny(TinyModel(), foreign))
    assert finding.status == "fault"
    assert "control_hz" in finding.mend
    flipped = dataclasses.replace(PUSHT, cameras=(Camera("top", 64, 64, "flipped"),))
    assert "orientation" in contract_finding(tiny(TinyModel(), flipped)).mend


def test_probing_actions_stay_in_bounds_and_repeat():
    proprio = np.array([[0.0, 512.0], [256.0, 256.0]], np.float32)
    actions = probing_actions(proprio, PUSHT, 200, np.random.default_rng(0))
    assert actions.shape == (2, 200, 1, 2)
    assert actions.min() >= 0
    assert actions.max() <= 512
    assert np.abs(actions[:, 0, 0] - proprio).max() < 120
    np.testing.assert_array_equal(actions, probing_actions(proprio, PUSHT, 200, np.random.default_rng(0)))


@pytest.mark.parametrize("name", sorted(p.parent.name for p in WEIGHTS.glob("*/starts.safetensors")))
def test_the_shipped_simulators_pass(name):
    findings = check_checkpoint(LearnedSimulator.from_pretrained(WEIGHTS / name))
    assert faults(findings) == [], report(name, findings)
