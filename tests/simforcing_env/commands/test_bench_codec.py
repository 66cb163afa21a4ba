"""``simforcing bench codec`` as a real child process on a data set of drawn frames."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simforcing_env.commands.tables import fill
from tests.world_model.codecs.conftest import draw
from tests.world_model.tiny import SIZE, tiny_contract
from world_model.data.episode import Episode
from world_model.data.lerobot.layout import DatasetSpec
from world_model.data.lerobot.shard import ShardWriter
from world_model.data.lerobot.writer import DatasetWriter
from world_model.results import read_results

LENGTH, EPISODES = 25, 12


def bench(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "simforcing_env.commands.main", "bench", "codec", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dataset")
    spec = DatasetSpec(tiny_contract())
    writer, work = DatasetWriter(folder, spec), folder / "work"
    work.mkdir()
    with ShardWriter(work, spec, shard=0, first_episode=0) as shard:
        for number in range(EPISODES):
            zeros = np.zeros((LENGTH, 2), np.float32)
            shard.add(Episode(draw(LENGTH, number, SIZE).numpy(), zeros, zeros[1:, None]))
    writer.commit(work)
    writer.write_stats()
    return folder


def test_table_and_results(dataset: Path, tmp_path: Path) -> None:
    names = ["space_to_depth_p4", "pca_p4_k12", "pca_p4_k24", "conv_p4_k12"]
    results = tmp_path / "results/codecs.json"
    quick = ("--minutes", 0.03, "--timing", 0.02, "--threads", 1)
    done = bench("--dataset", dataset, "--json", results, "--frames", 40, *quick, "--only", *names)
    assert done.returncode == 0, done.stderr
    assert "measuring on 25 of 1 episodes" in done.stdout  # the last tenth of 12 episodes
    record = read_results(results)
    assert record["contract"] == tiny_contract().hash
    metrics = record["metrics"]
    assert {name.split(".")[0] for name in metrics} == set(names)
    assert metrics["space_to_depth_p4.largest_error"].value == 0
    assert metrics["pca_p4_k24.psnr"].value > metrics["pca_p4_k12.psnr"].value > 20
    assert metrics["pca_p4_k24.parameters"].value == 48 * 24 + 48 + 24
    assert metrics["pca_p4_k24.latent_numbers"].value == 24 * 4 * 4
    assert metrics["conv_p4_k12.fit_s"].value > 1.5
    with results.with_suffix(".csv").open(newline="") as file:
        heading, *rows = csv.reader(file)
    assert [row[0] for row in rows] == names
    assert rows[0][heading.index("PSNR, dB")] == "exact"
    table = results.with_suffix(".md").read_text()
    assert table in done.stdout
    markers = "<!-- tables: results/codecs.csv -->\n<!-- end of tables -->"
    assert table in fill(markers, tmp_path)
    assert sorted(p.name for p in results.parent.iterdir()) == ["codecs.csv", "codecs.json", "codecs.md"]


def test_mistakes_are_one_sentence(dataset: Path) -> None:
    done = bench("--dataset", dataset, "--only", "jpeg")
    assert done.returncode == 2
    assert done.stderr.startswith("simforcing: there is no codec 'jpeg'; choose from space_to_depth_p4, pca_p4_k12")
