"""Episodes of the true environment: their ledger, their table, and the film."""

import json
from dataclasses import asdict, replace

import numpy as np
import pytest

from simforcing_env.planning.film import SIDE, PlanFilm
from simforcing_env.planning.model_world import imagination
from simforcing_env.planning.planning_policy import PlanningConfig, PlanningPolicy
from simforcing_env.planning.proposals import Shortened
from simforcing_env.planning.ranking import Ranking
from simforcing_env.planning.scoring import ScoreConfig
from simforcing_env.planning.search import SearchConfig
from simforcing_env.planning.trials import Trial, known_trials, paired, run_trials, seed_of, table
from simforcing_env.planning.values import make_value
from simforcing_env.registration import WEIGHTS
from simforcing_env.teacher_env import TeacherVectorEnv
from simforcing_env.vector_env import WorldModelVectorEnv
from tests.simforcing_env.planning.untrained import small_policy
from world_model.errors import DataError, InputError
from world_model.ledger import append_records
from world_model.pretrained import LearnedSimulator


def env(count=2, chunk=4, every_frame=False):
    return TeacherVectorEnv(count, teacher="pusht", chunk=chunk, frames_in_info=every_frame, success_threshold=1.0)


STARTS = [f"near-{k}" for k in range(3)]


def test_trials_are_the_same_in_any_company():
    found: dict[int, list[Trial]] = {}
    for together in (1, 2):
        found[together] = []
        run_trials(env(together), Shortened(small_policy(), 4), STARTS, 0, 10, found[together].append)
    assert [t.start for t in found[2]] == STARTS  # the slot that fills up the last batch does not count
    for one, two in zip(found[1], found[2], strict=True):
        assert one.key == two.key
        for label, ends in one.labels.items():
            assert ends["final"] == pytest.approx(two.labels[label]["final"], abs=1e-3)
    with pytest.raises(InputError, match="plans 4 actions but the environment takes 8"):
        run_trials(env(chunk=8), Shortened(small_policy(), 4), STARTS, 0, 10, print)


def test_the_end_is_what_counts():
    """The final value is that after exactly ``steps`` actions, the best one that of any frame."""
    found: list[Trial] = []
    run_trials(env(1), Shortened(small_policy(), 4), STARTS[:1], 0, 6, found.append)
    single, policy = env(1), Shortened(small_policy(), 4)
    seed = seed_of(0, STARTS[0])
    observation, infos = single.reset(seed=[seed], options={"start": STARTS[:1]})
    policy.reset([seed])
    curve = [float(infos["iou"][0])]
    for _ in range(2):
        observation, *_, infos = single.step(policy.act(observation))
        curve += infos["labels"]["iou"][0].tolist()
    assert found[0].labels["iou"]["final"] == pytest.approx(curve[6], abs=1e-6)
    assert found[0].labels["iou"]["best"] == pytest.approx(max(curve[:7]), abs=1e-6)


def trial(iou, success, start="near-0"):
    labels = {"iou": {"final": iou, "best": iou + 0.1}, "success_pose": {"final": success, "best": 1.0}}
    return Trial(start, 0, "p", "c", 300, labels)


def test_the_ledger_is_read_back_and_mended(tmp_path):
    path = tmp_path / "ledger.jsonl"
    append_records(path, [asdict(trial(0.5, 0.0)), asdict(trial(0.7, 1.0, "near-1"))])
    with path.open("a") as file:
        file.write('{"start": "near-')  # a kill
    assert list(known_trials(path)) == [trial(0.5, 0.0).key, trial(0.7, 1.0, "near-1").key]
    path.write_text(json.dumps({"start": "near-0", "colour": "red"}) + "\n")
    with pytest.raises(DataError, match="line 1"):
        known_trials(path)


def test_the_table_has_the_issue_s_names():
    metrics = table({"k5_p0": [trial(0.5, 0.0), trial(0.7, 1.0)], "oracle_k50": [trial(0.9, 1.0)]}, 0)
    assert metrics["iou_k5_p0"].value == pytest.approx(0.6)
    assert metrics["best_iou_k5_p0"].value == pytest.approx(0.7)
    assert metrics["success_pose_k5_p0"].value == 0.5
    assert metrics["ever_success_pose_k5_p0"].value == 1.0
    assert metrics["oracle_iou_k50"].value == pytest.approx(0.9)
    assert metrics["iou_k5_p0"].n == 2


def test_success_may_end_an_episode():
    """In an environment with a threshold, success is all that counts; later calls change nothing."""
    simulator = LearnedSimulator.from_pretrained(WEIGHTS / "pusht-nano")
    options = {"checkpoint": simulator, "chunk": 4, "autoreset_mode": "Disabled", "frames_in_info": False}
    found: list[Trial] = []
    for threshold in (0.0, 0.999):
        learned = WorldModelVectorEnv(2, success_threshold=threshold, **options)
        run_trials(learned, Shortened(small_policy(), 4), STARTS, 0, 4, found.append)
    assert [t.labels["success"]["final"] for t in found] == [1.0] * 3 + [0.0] * 3
    assert set(found[0].labels) == {"success"}


def test_pairs_by_hand():
    def ended(success, start):
        return Trial(start, 0, "p", "c", 176, {"success": {"final": success, "best": success}})

    starts = [f"libero_goal/0/{n}" for n in range(8)]
    without = [ended(float(n < 2), start) for n, start in enumerate(starts)]
    planned = [ended(float(n != 0), start) for n, start in enumerate(starts)]
    metrics = paired({"k1_p0": without, "k8_p0": without[:4], "k16_p0": planned[::-1]})
    assert metrics["success_without"].value == 2 / 8
    assert metrics["success_with"].value == 7 / 8
    assert metrics["mcnemar_p"].value == pytest.approx(2 * (1 + 7) / 2**7)  # 6 to 1
    assert metrics["mcnemar_p_k8"].value == 1.0
    assert metrics["mcnemar_p_k8"].n == 4


def test_the_film_shows_every_frame(tmp_path):
    simulator = LearnedSimulator.from_pretrained(WEIGHTS / "pusht-nano")
    config = PlanningConfig(execute=4, score=ScoreConfig(length=8, continuations=0), search=SearchConfig(count=4))
    policy = PlanningPolicy(small_policy(), imagination(simulator, False), make_value("points"), config)
    film = PlanFilm(simulator.contract)
    policy.watch = film.watch
    run_trials(env(1, every_frame=True), policy, STARTS[:1], 0, 8, lambda t: None, film.see)
    assert len(film.frames) == 2 * (3 + 4)  # three of imagining, then the chunk
    assert {frame.shape for frame in film.frames} == {(SIDE + 18, SIDE + 96, 3)}
    assert (film.frames[0] != film.frames[3]).any()


def test_ranking_by_hand():
    predicted, true = np.array([[0.1, 0.2, 0.4]]), np.array([[0.2, 0.5, 0.4]])
    # Over two noises: shared moves all candidates alike, own moves one of them.
    shared = np.array([[[0.1, 0.2, 0.4], [0.2, 0.3, 0.5]]])
    own = np.array([[[0.1, 0.2, 0.4], [0.1, 0.4, 0.4]]])
    ranking = Ranking(predicted, predicted + 0.1, 0 * true, true, shared, own)
    assert ranking.regret == pytest.approx([0.1])
    assert ranking.chance_regret == pytest.approx([0.5 - 1.1 / 3])
    assert ranking.pearson == pytest.approx(np.corrcoef(predicted[0], true[0])[0, 1])
    assert ranking.variance_ratio() == pytest.approx(0.0, abs=1e-9)
    flat = replace(ranking, predicted=np.zeros((1, 3)))
    assert len(flat.pearson) == 0
