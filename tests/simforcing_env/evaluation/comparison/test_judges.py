"""Further judges on data that is made by hand: actions in an ellipsoid, pictures whose corner says success."""

import numpy as np
import pytest

from simforcing_env.evaluation.comparison.audit import Witness, write_audit
from simforcing_env.evaluation.comparison.judges import GoalImages, Judges, Support, small
from simforcing_env.evaluation.comparison.scores import Scores
from tests.simforcing_env.evaluation.comparison.test_playing import PROTOCOL, trace
from tests.simforcing_env.evaluation.comparison.test_scores import LEARNED, TRUE, ledger
from tests.world_model.tiny import SIZE, tiny_contract
from world_model.data.episode import Episode
from world_model.data.lerobot.layout import DatasetSpec
from world_model.data.lerobot.reader import read_dataset
from world_model.data.lerobot.shard import ShardWriter
from world_model.data.lerobot.writer import DatasetWriter
from world_model.errors import DataError


def picture(generator, success):
    """Noise, with a bright corner where it is a success."""
    frame = generator.integers(0, 60, (SIZE, SIZE, 3)).astype(np.uint8)
    if success:
        frame[:8, :8] = 220
    return frame


def recorded(root, wins=True):
    """20 episodes of 12 frames; every other one ends in success. Actions keep within 10 of the middle."""
    generator, contract = np.random.default_rng(0), tiny_contract()
    spec = DatasetSpec(contract, (), ("reward", "success"), ("Do it.",))
    writer, part = DatasetWriter(root, spec), root.parent / "part"
    part.mkdir()
    with ShardWriter(part, spec, 0, 0) as shard:
        for number in range(20):
            success = np.zeros(12, np.float32)
            success[10:] = float(wins and number % 2)
            frames = np.stack([picture(generator, s) for s in success])
            actions = generator.uniform(40, 60, (11, 1, 2)).astype(np.float32)
            proprio, labels = np.full((12, 2), 50, np.float32), {"reward": success, "success": success}
            shard.add(Episode(frames, proprio, actions, labels=labels, start=f"s{number}", behaviour="b"))
    writer.commit(part)
    writer.write_stats()
    return read_dataset(root)


def test_actions_outside_of_the_support(tmp_path):
    data = recorded(tmp_path / "data")
    support = Support.of(data)
    inside = np.full((4, 1, 2), 50, np.float32)
    assert support.outside(data.contract, inside) == 0
    inside[0] = 90
    assert support.outside(data.contract, inside) == 0.25
    own = [support.outside(data.contract, data.actions(i)) for i in range(len(data))]
    assert np.mean(own) == pytest.approx(0.01, abs=0.005)


def test_goal_images_tell_success_from_the_picture(tmp_path):
    judge = GoalImages.of(recorded(tmp_path / "data"))
    fresh = np.random.default_rng(7)
    assert [judge.success(0, picture(fresh, good)) for good in (True, False, True, False)] == [True, False] * 2
    assert judge.success(3, picture(fresh, True)) is None


def test_goal_images_need_success_and_failure(tmp_path):
    with pytest.raises(DataError, match="no task with pictures of success and of failure"):
        GoalImages.of(recorded(tmp_path / "data", wins=False))


def test_small_pictures_are_means():
    frames = np.zeros((1, 32, 64, 3), np.uint8)
    frames[:, :2, :2] = 255
    seen = small(frames)
    assert seen.shape == (1, 16 * 32 * 3)
    assert seen[0, :3].tolist() == [1, 1, 1]
    assert seen[0, 3:].max() == 0


def test_opinions_are_fields_of_outcomes(tmp_path):
    data = recorded(tmp_path / "data")
    judges = Judges(data.contract, Support.of(data), GoalImages.of(data))
    seen = trace([0, 0], [0, 0])
    seen.images[-1] = picture(np.random.default_rng(3), True)
    seen.actions = [np.full((1, 2), 50, np.float32), np.full((1, 2), 99, np.float32)]
    assert judges.opinions(0, seen) == {"outside": 0.5, "goal": True}
    assert Judges(data.contract).opinions(0, seen) == {}


def test_the_audit_shows_every_false_positive(tmp_path):
    scores = Scores.of(ledger(TRUE, LEARNED))
    wrong = [("1", "start-6"), ("2", "start-6")]
    witness, policy = Witness(tmp_path / "compare.audit"), None
    for row in range(3):
        pair = [scores.true[row][6], scores.learned[row][6]]
        traces = {"true": [trace([0, 80, 160], [0, 0, 0])], "learned": [trace([0, 90], [0, 0])]}
        witness.watch(policy, pair, traces)
    assert sorted(path.name for path in (tmp_path / "compare.audit").iterdir()) == [f"{p}-{s}.webp" for p, s in wrong]
    assert write_audit(tmp_path / "compare.json", PROTOCOL, scores, ("fold the towel",)) == 2
    page = (tmp_path / "media" / "compare-audit.html").read_text()
    assert "2 of 12 episodes that fail in truth succeed in imagination" in page
    assert page.count("data:image/webp;base64,") == 2
    assert "fold the towel" in page
