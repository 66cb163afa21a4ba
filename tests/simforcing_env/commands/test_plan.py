"""``simforcing policy train``, ``plan``, ``plan ranking`` and ``posttrain``, as they are typed."""

import json

import pytest

from simforcing_env.commands.main import main
from simforcing_env.commands.study_planning import beside_published
from simforcing_env.evaluation.loading import open_simulator
from simforcing_env.policies.diffusion import new_policy
from simforcing_env.policies.scene_eyes import scene_eyes
from tests.simforcing_env.planning.untrained import small_policy
from world_model.data.lerobot.reader import read_dataset
from world_model.pretrained import LearnedSimulator
from world_model.results import Metric, read_results
from world_model.training.recipes import RECIPES


@pytest.fixture
def policy(tmp_path):
    small_policy(horizon=8).save(tmp_path / "policy")
    return tmp_path / "policy"


def plan(policy, out, *more):
    words = ["plan", "--policy", str(policy), "--json", str(out), "--k", "1", "4", "--steps", "8", "--execute", "4"]
    return main([*words, "--look.length", "8", "--together", "2", *more])


def test_a_plan_is_measured_filmed_and_resumed(policy, tmp_path, capsys):
    out = tmp_path / "results" / "plan.json"
    assert plan(policy, out, "--episodes", "1", "--film", str(tmp_path / "film.mp4")) == 0
    assert (tmp_path / "film.mp4").stat().st_size > 1000
    ledger = out.with_suffix(".ledger.jsonl")
    assert len(ledger.read_text().splitlines()) == 2
    capsys.readouterr()
    assert plan(policy, out, "--episodes", "2") == 0
    told = capsys.readouterr().out
    assert "seed-800000" not in told  # it stands in the ledger
    assert "k4_p0 seed-800001" in told
    assert len(ledger.read_text().splitlines()) == 4
    results = read_results(out)
    assert {"iou_k1_p0", "iou_k4_p0", "coverage_k4_p0", "success_pose_k4_p0"} <= set(results["metrics"])
    assert results["metrics"]["iou_k4_p0"].n == 2
    before = json.loads(out.read_text())["metrics"]
    assert plan(policy, out, "--episodes", "2", "--report-only") == 0
    assert json.loads(out.read_text())["metrics"] == before


def test_budgets_have_their_cells_and_plans_are_timed(policy, tmp_path):
    out = tmp_path / "plan.json"
    assert plan(policy, out, "--episodes", "1", "--k", "3", "--budget-ms", "1", "--time", "2") == 0
    metrics = read_results(out)["metrics"]
    assert {"iou_k3_p0", "iou_ms1_p0", "plan_s_ms1", "plan_over_ms1"} <= set(metrics)
    assert metrics["plan_s_k3"].n == 2
    assert metrics["plan_s_k3"].value > 0


def test_processes_share_a_table(policy, tmp_path):
    out = tmp_path / "plan.json"
    common = ["--episodes", "3", "--together", "1", "--k", "1"]
    assert plan(policy, out, *common, "--shard", "1", "2") == 0
    assert read_results(out)["metrics"]["iou_k1_p0"].n == 1
    assert plan(policy, out, *common, "--shard", "0", "2") == 0
    assert read_results(out)["metrics"]["iou_k1_p0"].n == 3
    starts = [json.loads(line)["start"] for line in out.with_suffix(".ledger.jsonl").read_text().splitlines()]
    assert starts == ["seed-800001", "seed-800000", "seed-800002"]


def test_the_policy_alone_may_be_asked_more_often(policy, tmp_path):
    out = tmp_path / "plan.json"
    common = ["--episodes", "1", "--together", "1", "--k", "1"]
    assert plan(policy, out, *common) == 0
    assert plan(policy, out, *common, "--execute-alone", "4") == 0  # as before
    assert plan(policy, out, *common, "--execute-alone", "2") == 0
    assert len(out.with_suffix(".ledger.jsonl").read_text().splitlines()) == 2


def test_the_oracle_has_its_cell(policy, tmp_path):
    out = tmp_path / "plan.json"
    more = ["--oracle-k", "3", "--oracle-episodes", "1", "--k", "1"]
    assert plan(policy, out, "--episodes", "2", "--worlds", "0=pusht-nano", "true", *more) == 0
    metrics = read_results(out)["metrics"]
    assert (metrics["iou_k1_p0"].n, metrics["oracle_iou_k3"].n) == (2, 1)
    assert "oracle_iou_k1" not in metrics


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--worlds", "pusht-nano"], "neither 'true' nor P=CHECKPOINT"),
        (["--k", "4", "4"], "holds 4 twice"),
        (["--report-only"], "run without --report-only"),
        (["--shard", "2", "2"], "one of some parts"),
        (["--env", "SimForcing/LiberoGoal-v0"], "the policy is of 'pusht'"),
        (["--value", "goal_image", "--k", "4"], "plan with pictures"),
    ],
)
def test_mistakes_are_told(policy, tmp_path, capsys, words, said):
    assert plan(policy, tmp_path / "plan.json", "--episodes", "1", *words) == 2
    assert said in capsys.readouterr().err


def test_ranking_is_measured(policy, tmp_path):
    out = tmp_path / "ranking.json"
    words = ["--episodes", "1", "--moments", "1", "--every", "1", "--k", "3", "--look.length", "4", "--repeats", "3"]
    assert main(["plan", "ranking", "--policy", str(policy), *words, "--execute", "4", "--json", str(out)]) == 0
    metrics = read_results(out)["metrics"]
    assert {"regret", "regret_own_noise", "doubt_rms"} <= set(metrics)
    assert metrics["crn_variance_ratio"].value >= 0
    assert len(out.with_suffix(".csv").read_text().splitlines()) == 4


def test_a_policy_is_recorded_and_learned_from(tmp_path, capsys):
    data, run = tmp_path / "data", tmp_path / "run"
    words = ["--policy", "random:horizon=4", "--episodes", "2", "--transitions", "20", "--execute", "4"]
    assert main(["policy", "record", "--out", str(data), *words]) == 0
    recorded = read_dataset(data)
    assert recorded.lengths.tolist() == [21, 21]
    assert recorded.behaviours == ["policy", "policy"]
    assert recorded.starts[0] != recorded.starts[1]
    assert main(["policy", "record", "--out", str(data), *words, "--noise", "3"]) == 2
    assert "another --out" in capsys.readouterr().err
    words = ["--dataset", str(data), "--horizon", "8", "--width", "16", "--layers", "1", "--schedule.steps", "3"]
    assert main(["policy", "train", "--out", str(run), *words]) == 0
    assert f"{2 * 2 * (20 - 8 + 1)} moments" in capsys.readouterr().out  # and their mirror images


def test_a_policy_is_trained_from_demonstrations(shared_data, tmp_path, capsys):
    folder = shared_data / "pusht_human" / "pusht_cchi_v7_ep000-044.zarr"
    words = ["--demonstrations", str(folder), "--width", "16", "--layers", "1", "--schedule.steps", "4"]
    assert main(["policy", "train", "--out", str(tmp_path / "run"), *words]) == 0
    assert "moments" in capsys.readouterr().out
    assert (tmp_path / "run" / "checkpoint" / "model.safetensors").is_file()
    assert main(["policy", "train", "--out", str(tmp_path / "run")]) == 2
    assert "nothing to learn from" in capsys.readouterr().err


def test_the_published_numbers_stand_beside_ours():
    metrics = {"iou_k50_p1000": Metric(0.97, 0.96, 0.98, 100, "share"), "iou_k3_p1000": Metric(0.5)}
    text = beside_published(metrics, (0, 1000), (3, 50))
    assert text.splitlines()[-1] == "| P = 1000 | 0.500 | 0.970 (0.960 to 0.980) / 0.961 |"
    assert text.splitlines()[-2] == "| P = 0 |  |  |"


@pytest.mark.slow
def test_the_study_goes_from_policies_to_the_table(tmp_path, capsys):
    run, out = tmp_path / "run", tmp_path / "study"
    small_policy().save(run / "checkpoint")
    words = ["study", "planning", "--policies", str(run), "--out", str(out), "--json", str(tmp_path / "plan.json")]
    words += ["--rollouts", "0", "2", "--transitions", "40", "--cpu-minutes", "0.02", "--base-episodes", "2"]
    words += ["--set", "train.batch=0", "--set", "train.sequences=4", "--k", "1", "3", "--oracle-k", "2"]
    words += ["--oracle-episodes", "1", "--episodes", "2", "--together", "2", "--steps", "16"]
    assert main(words) == 0
    assert "wanted were 0.6 to 0.66" in capsys.readouterr().out
    names = {f"{label}_{cell}" for label in ("iou", "coverage") for cell in ("k1_p0", "k3_p0", "k1_p2", "k3_p2")}
    metrics = read_results(tmp_path / "plan.json")["metrics"]
    assert names | {"oracle_iou_k2"} <= set(metrics)
    assert "| P = 2 |" in (tmp_path / "plan.md").read_text()
    assert metrics["iou_k1_p0"].value == metrics["iou_k1_p2"].value  # no plan, the same starts
    assert main([*words, "--report-only"]) == 0


@pytest.mark.slow
def test_plans_are_carried_out_in_libero(drawing, tmp_path):
    simulator = open_simulator("libero-goal-nano")
    eyes = scene_eyes(simulator, RECIPES["libero-goal-nano"].train.state, 10)
    new_policy(simulator.contract, eyes, width=16, layers=1, sample_steps=2).save(tmp_path / "policy")
    words = ["--env", "SimForcing/LiberoGoal-v0", "--tasks", "3", "--episodes", "1", "--k", "1", "2", "--steps", "16"]
    more = ["--look.continuations", "1", "--json", str(tmp_path / "plan.json")]
    assert main(["plan", "--policy", str(tmp_path / "policy"), *words, *more]) == 0
    metrics = read_results(tmp_path / "plan.json")["metrics"]
    assert {"success_without", "success_with", "mcnemar_p", "success_k2_p0"} <= set(metrics)


@pytest.mark.slow
def test_post_training_takes_heads_and_starts_along(policy, tmp_path):
    out = tmp_path / "p2"
    words = ["--rollouts", "2", "--transitions", "60", "--cpu-minutes", "0.02", "--set", "train.batch=1"]
    words += ["--set", "train.sequences=4", "--set", "train.validation_clips=2"]
    assert main(["posttrain", "--policy", f"diffusion:{policy}", "--out", str(out), *words]) == 0
    trained = LearnedSimulator.from_pretrained(out / "checkpoint")
    assert trained.heads is not None
    assert len(trained.starts or ()) == 104
    assert trained.recipe["rollouts"] == 2
    assert plan(policy, tmp_path / "plan.json", "--episodes", "1", "--worlds", f"2={out / 'checkpoint'}") == 0
    assert "iou_k4_p2" in read_results(tmp_path / "plan.json")["metrics"]
