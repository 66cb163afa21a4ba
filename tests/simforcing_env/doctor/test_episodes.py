"""True Push-T episodes pass; each corruption of them gets its own verdict and no other."""

import dataclasses

import numpy as np
import pytest

from simforcing_env.doctor.episodes import check_episodes
from simforcing_env.doctor.finding import faults, report
from teachers.pusht.contract import pusht_contract
from teachers.pusht.recording import PushTRecorder
from world_model.contract import Camera

CONTRACT = pusht_contract()


@pytest.fixture(scope="module")
def clean():
    recorder = PushTRecorder("validation", seed=0)
    return [recorder.record(index) for index in range(10)]


def changed(episodes, **functions):
    """Episodes with arrays replaced by functions of themselves."""
    return [
        dataclasses.replace(e, state=None, labels={}, **{name: f(getattr(e, name)) for name, f in functions.items()})
        for e in episodes
    ]


def moved(rows):
    """A function that moves an array down by ``rows``, its end repeated."""
    return lambda array: array[np.clip(np.arange(len(array)) - rows, 0, len(array) - 1)]


def turned(axis, about):
    """A function that turns the sign of one dimension about a centre."""

    def turn(array):
        array = array.copy()
        array[..., axis] = 2 * about - array[..., axis]
        return array

    return turn


def normalised(array):
    return (array / 256 - 1).astype(np.float32)


def shuffled(episodes):
    """Actions of other episodes."""
    pool = np.concatenate([e.actions for e in episodes])
    mixed = np.random.default_rng(0).permutation(pool)
    ends = np.cumsum([0, *(len(e) - 1 for e in episodes)])
    return [dataclasses.replace(e, actions=mixed[a:b]) for e, a, b in zip(episodes, ends[:-1], ends[1:], strict=True)]


def test_clean_episodes_pass_every_check(clean):
    findings = check_episodes(clean, CONTRACT)
    assert {f.status for f in findings} == {"ok"}, report("", findings)
    assert {f.check for f in findings} == {
        "action range", "proprio range", "normaliser", "image orientation", "frame shift",
        "action effect", "action shift", "action sign",
    }  # fmt: skip


CORRUPTIONS = {
    "flipped up and down": (dict(frames=lambda f: f[:, ::-1]), "image orientation", "upside down"),
    "mirrored": (dict(frames=lambda f: f[:, :, ::-1]), "image orientation", "left to right"),
    "turned by half": (dict(frames=lambda f: f[:, ::-1, ::-1]), "image orientation", "by half a turn"),
    "transposed": (dict(frames=lambda f: f.swapaxes(1, 2)), "image orientation", "exchanged"),
    "actions one late": (dict(actions=moved(1)), "action shift", "one frame late"),
    "actions one early": (dict(actions=moved(-1)), "action shift", "one frame early"),
    "frames one late": (dict(frames=moved(1)), "frame shift", "one row earlier"),
    "frames one early": (dict(frames=moved(-1)), "frame shift", "one row later"),
    "x negated": (dict(actions=turned(0, 256.0)), "action sign", "target_x moves against"),
    "y negated": (dict(actions=turned(1, 256.0)), "action sign", "target_y moves against"),
    "y negated about 0": (dict(actions=turned(1, 0.0)), "action range", "target_y lies outside"),
    "normalised actions": (dict(actions=normalised), "action range", "normalised already"),
    "normalised proprio": (dict(proprio=normalised), "proprio range", "normalised already"),
    "other unit": (dict(actions=lambda a: a * 4), "action range", "another unit"),
    "not a number": (dict(actions=lambda a: np.where(a > 300, np.nan, a)), "action range", "record them again"),
    "blank pictures": (dict(frames=lambda f: f * 0), "motion", "repeated or blank"),
}  # fmt: skip


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_a_corruption_gets_its_verdict(clean, name):
    functions, check, words = CORRUPTIONS[name]
    findings = check_episodes(changed(clean, **functions), CONTRACT)
    found = faults(findings)
    assert check in found, report(name, findings)
    # An action in another unit or with NaN also upsets the checks that read it; everything else has one verdict.
    assert found == [check] or check == "action range", report(name, findings)
    mend = next(f.mend for f in findings if f.check == check)
    assert words in mend


def test_the_mend_of_a_shift_is_right(clean):
    for wrong, mend in ((1, "-1 row"), (-1, "+1 row")):
        late = check_episodes(changed(clean, actions=moved(wrong)), CONTRACT)
        assert mend in next(f.mend for f in late if f.check == "action shift")
        pictures = check_episodes(changed(clean, frames=moved(wrong)), CONTRACT)
        assert mend in next(f.mend for f in pictures if f.check == "frame shift")


def test_shuffled_actions_have_no_effect(clean):
    assert faults(check_episodes(shuffled(clean), CONTRACT)) == ["action effect"]


def test_a_declared_flip_is_right_when_the_pictures_are_flipped(clean):
    flipped = dataclasses.replace(CONTRACT, cameras=(Camera("top", 64, 64, "flipped"),))
    assert faults(check_episodes(changed(clean, frames=lambda f: f[:, ::-1]), flipped)) == []
    assert faults(check_episodes(clean, flipped)) == ["image orientation"]


def test_a_normaliser_of_other_data_is_noticed(clean):
    for scale in (0.02, 60.0):
        high = (512.0 * scale,) * 2
        normalizer = dataclasses.replace(CONTRACT.normalizer, kind="quantiles", action_high=high)
        found = check_episodes(clean, dataclasses.replace(CONTRACT, normalizer=normalizer))
        assert faults(found) == ["normaliser"]


def test_too_little_to_tell_is_a_note_and_no_fault(clean):
    still = changed(clean[:1], frames=lambda f: f[:3], proprio=lambda p: p[:3], actions=lambda a: a[:2])
    findings = check_episodes(still, CONTRACT)
    assert faults(findings) == []
    assert {f.check for f in findings if f.status == "note"} == {"motion", "action shift"}


def test_true_recordings_of_people_pass(shared_data):
    from teachers.pusht.recording import PushTRecorder

    recorder = PushTRecorder("test", seed=1)
    humans = [e for e in (recorder.record(i) for i in range(24)) if e.behaviour == "human"]
    assert humans
    assert faults(check_episodes(humans, CONTRACT)) == []
