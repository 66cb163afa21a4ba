"""Alignment on small made worlds: relative actions, several actions a frame, gripper polarity."""

import dataclasses

import numpy as np
import pytest

from simforcing_env.doctor.alignment import check_alignment, pairs
from simforcing_env.doctor.finding import faults
from world_model.contract import Camera, Contract, Dimension, Normalizer
from world_model.data.episode import Episode

ARM = Contract(
    name="arm",
    cameras=(Camera("front", 8, 8),),
    control_hz=20.0,
    actions_per_frame=4,
    actions=(
        Dimension("delta_x", "1", -1.0, 1.0, "relative"),
        Dimension("delta_y", "1", -1.0, 1.0, "relative"),
        Dimension("gripper", "1", -1.0, 1.0),
    ),
    proprio=(
        Dimension("eef_x", "m", -1.0, 1.0),
        Dimension("eef_y", "m", -1.0, 1.0),
        Dimension("gripper_width", "m", 0.0, 0.08),
    ),
    normalizer=Normalizer("bounds", (-1.0,) * 3, (1.0,) * 3, (-1.0, -1.0, 0.0), (1.0, 1.0, 0.08)),
    gripper="plus_closes",
)


def arm_episodes(x=1.0, gripper=-1.0, count=6, frames=30):
    """An arm that moves 5 cm for a full action; its gripper closes with +1 when ``gripper`` is -1."""
    generator = np.random.default_rng(3)
    episodes = []
    for _ in range(count):
        actions = generator.uniform(-1, 1, (frames - 1, 4, 3)).astype(np.float32)
        actions[..., 2] = np.repeat(np.sign(generator.normal(size=frames - 1)), 4).reshape(-1, 4)
        proprio = np.zeros((frames, 3), np.float32)
        for t in range(frames - 1):
            proprio[t + 1, :2] = proprio[t, :2] + 0.05 * actions[t, :, :2].mean(axis=0) * [x, 1.0]
            proprio[t + 1, 2] = np.clip(proprio[t, 2] + gripper * 0.03 * actions[t, -1, 2], 0, 0.08)
        episodes.append(Episode(np.zeros((frames, 8, 8, 3), np.uint8), proprio, actions))
    return episodes


def test_dimensions_are_paired_by_their_last_word_and_the_gripper_by_polarity():
    assert [(p.action, p.proprio, p.sign) for p in pairs(ARM)] == [(0, 0, 1), (1, 1, 1), (2, 2, -1)]
    opens = dataclasses.replace(ARM, gripper="plus_opens")
    assert [p.sign for p in pairs(opens)] == [1, 1, 1]


def test_an_arm_that_does_as_told_passes():
    findings = check_alignment(arm_episodes(), ARM)
    assert {f.status for f in findings} == {"ok"}


@pytest.mark.parametrize(
    ("episodes", "contract", "name"),
    [
        (arm_episodes(x=-1.0), ARM, "delta_x"),
        (arm_episodes(gripper=1.0), ARM, "gripper"),
        (arm_episodes(), dataclasses.replace(ARM, gripper="plus_opens"), "gripper"),
    ],
    ids=["axis", "gripper of the data", "gripper of the contract"],
)
def test_a_wrong_sign_is_named(episodes, contract, name):
    findings = check_alignment(episodes, contract)
    assert faults(findings) == ["action sign"]
    assert next(f.mend for f in findings if f.status == "fault").startswith(f"{name} moves against")


@pytest.mark.parametrize(("rows", "words"), [(1, "one frame late"), (-1, "one frame early")])
def test_a_shift_of_a_whole_frame_is_named(rows, words):
    late = [dataclasses.replace(e, actions=np.roll(e.actions, rows, axis=0)) for e in arm_episodes()]
    findings = check_alignment(late, ARM)
    assert faults(findings) == ["action shift"]
    assert words in next(f.mend for f in findings if f.status == "fault")


def test_a_contract_without_pairs_is_a_note():
    other = dataclasses.replace(ARM, actions=tuple(Dimension(f"joint_{i}", "rad", -1.0, 1.0) for i in range(3)))
    assert [f.status for f in check_alignment(arm_episodes(), other)] == ["note"]
