"""Comparisons as real processes: killed ones go on to the same report, the gate leaves with its verdict."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from simforcing_env.evaluation.comparison.outcome import read_outcomes
from world_model.results import read_results

POLICIES = ["random:hold=2", "random:hold=8", "pusht:tries=2,horizon=2"]
OPTIONS = ["--frames", "8", "--batch", "2", "--starts", "near-800004", "near-800001", "near-800002", "seed-800003"]


def command(*words):
    return [sys.executable, "-m", "simforcing_env.commands.main", *map(str, words)]


def compare(path, *more):
    return command("compare", "--policies", *POLICIES, *OPTIONS, "--no-timing", "--json", path, *more)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An uninterrupted comparison."""
    path = tmp_path_factory.mktemp("whole") / "compare.json"
    subprocess.run(compare(path), check=True, env=os.environ)
    return path


def without_timings(ledger):
    lines = [json.loads(line) for line in ledger.read_text().splitlines()]
    return [{k: v for k, v in line.items() if k not in ("policy_s", "env_s")} for line in lines]


@pytest.mark.slow
def test_a_killed_comparison_goes_on_to_the_same_report(whole, tmp_path):
    path = tmp_path / "compare.json"
    ledger = path.with_suffix(".ledger.jsonl")
    process = subprocess.Popen(compare(path), env=os.environ)
    while not ledger.exists() or ledger.read_bytes().count(b"\n") < 6:
        assert process.poll() is None
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = ledger.read_bytes()
    ledger.write_bytes(before[:-30])  # as if the kill had come within a line
    assert len(read_outcomes(ledger)) < 3 * 3 * 4
    subprocess.run(compare(path), check=True, env=os.environ)
    assert ledger.read_bytes().startswith(before[: before.rfind(b"\n", 0, -30)])
    key = lambda line: (line["policy"], line["side"], line["start"])  # noqa: E731
    same = [sorted(without_timings(p.with_suffix(".ledger.jsonl")), key=key) for p in (path, whole)]
    assert same[0] == same[1]
    for name in ("compare-policies.csv", "compare-pairs.csv", "compare-tasks.csv", "compare.protocol.json"):
        assert path.with_name(name).read_bytes() == whole.with_name(name).read_bytes()
    for name in ("compare.html", "compare.png", "compare-audit.html"):
        assert (path.parent / "media" / name).read_bytes() == (whole.parent / "media" / name).read_bytes()
    films = [sorted((f.name, f.read_bytes()) for f in p.with_suffix(".films").iterdir()) for p in (path, whole)]
    assert films[0] == films[1]
    assert read_results(path)["metrics"] == read_results(whole)["metrics"]


def test_what_a_comparison_leaves(whole):
    record = read_results(whole)
    assert {"mmrv", "bias", "policies", "tasks", "episodes", "noise_floor"} <= set(record["metrics"])
    assert record["metrics"]["episodes"].value == 12
    outcomes = read_outcomes(whole.with_suffix(".ledger.jsonl"))
    assert len(outcomes) == 3 * 3 * 4
    for (side, policy, start), outcome in outcomes.items():
        if side == "learned":
            assert set(outcome.parted) == {"pixel", "proprio", "state"}
            assert outcome.seed == outcomes["true", policy, start].seed
    with whole.with_name("compare-policies.csv").open() as file:
        assert [row["policy"] for row in csv.DictReader(file)] == POLICIES
    page = (whole.parent / "media" / "compare.html").read_text()
    assert outcome.protocol in page
    assert record["checkpoint"] in page
    assert "data:image/webp;base64," in page
    assert not re.search(r"(src|href)=['\"](?!data:)", page)  # nothing is fetched


def test_the_report_is_made_of_the_ledger_alone(whole, capsys):
    page = (whole.parent / "media" / "compare.html").read_bytes()
    from simforcing_env.commands.main import main

    words = ["compare", "--policies", *POLICIES, *OPTIONS, "--no-timing", "--json", str(whole), "--report-only"]
    assert main(words) == 0
    assert (whole.parent / "media" / "compare.html").read_bytes() == page


def test_the_truth_of_another_comparison_is_taken(whole, tmp_path, capsys):
    from simforcing_env.commands.main import main

    path = tmp_path / "again.json"
    words = ["compare", "--policies", *POLICIES, *OPTIONS, "--no-timing", "--json", str(path), "--truth", str(whole)]
    assert main(words) == 0
    assert "true episodes taken" in capsys.readouterr().out
    first, second = (read_outcomes(p.with_suffix(".ledger.jsonl")) for p in (whole, path))
    assert {k: o.success_frame for k, o in first.items()} == {k: o.success_frame for k, o in second.items()}
    one, two = (read_results(p)["metrics"] for p in (whole, path))
    assert two["mmrv"] == one["mmrv"]
    assert two["noise_floor"] == one["noise_floor"]
    assert "parted_pixel" in one
    assert "parted_pixel" not in two
    assert main(["9" if word == "8" else word for word in words]) != 0
    assert "ran with frames 8 and this comparison has 9" in capsys.readouterr().err


def test_the_gate_lets_the_same_checkpoint_through_and_stops_a_broken_order(whole, tmp_path, capsys):
    from simforcing_env.commands.main import main

    words = ["gate", "--checkpoint", "pusht-nano", "--against"]
    limits = ["--mmrv", "1", "--json", str(tmp_path / "gate.json")]
    assert main([*words, str(whole), "--spearman", "-1", *limits]) == 0
    assert "the ranking holds" in capsys.readouterr().out
    # The learned episodes of the same checkpoint are those of the comparison.
    gate, first = (read_outcomes(p.with_suffix(".ledger.jsonl")) for p in (tmp_path / "gate.json", whole))
    assert {key: o.success_frame for key, o in gate.items()} == {key: first[key].success_frame for key in gate}
    assert len(gate) == 3 * 4
    # A truth in which the policies stand the other way around.
    learned = {name: sum(o.success for o in gate.values() if o.policy == name) for name in POLICIES}
    upside_down = sorted(POLICIES, key=learned.get)
    lines = [json.loads(line) for line in whole.with_suffix(".ledger.jsonl").read_text().splitlines()]
    for line in lines:
        if line["side"] == "true":
            line["success"] = upside_down.index(line["policy"]) == 0 and line["start"] != "near-800001"
    forged = tmp_path / "forged.json"
    forged.with_suffix(".ledger.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    forged.with_suffix(".protocol.json").write_bytes(whole.with_suffix(".protocol.json").read_bytes())
    with pytest.raises(SystemExit) as ended:
        main([*words, str(forged), "--spearman", "0.9", *limits])
    assert ended.value.code == 1
    assert "the ranking does not hold" in capsys.readouterr().out


def test_ppi_and_episodes_print_numbers(whole, tmp_path, capsys):
    from simforcing_env.commands.main import main

    words = ["compare", "ppi", "--comparison", str(whole), "--true", "5", "--imagined", "50", "--first", "2"]
    status = main([*words, "--repeats", "20", "--json", str(tmp_path / "ppi.json")])
    err = capsys.readouterr().err
    if status:  # no policy of so small a comparison succeeded sometimes
        assert "succeeds sometimes" in err
    else:
        assert {"width_ratio", "coverage"} <= set(read_results(tmp_path / "ppi.json")["metrics"])
    assert main(["compare", "episodes", "--rates", "0.6", "0.8", "--agreement", "0.7", "--within", "0.1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "93 episodes: a rate of 0.6 to within 0.1 (95 %)",
        "82 episodes of each policy: 0.6 from 0.8, independent starts, power 0.8",
        "57 starts: the same from starts in common of which 0.7 end alike (McNemar)",
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--policies", "random", "--env", "SimForcing/Nowhere-v0"], "is no learned environment; choose among"),
        (["--policies", "random", "random:hold=1"], "are the same; give each once"),
        (["--policies", "random", "--episodes", "0"], "--episodes is 0 but must be at least 1"),
    ],
)
def test_mistakes(words, said, tmp_path, capsys):
    from simforcing_env.commands.main import main

    assert main(["compare", *words, "--json", str(tmp_path / "x.json")]) == 2
    assert said in capsys.readouterr().err
