"""Tables are a function of the results files, and the README's are up to date."""

import subprocess
import sys

import pytest

from simforcing_env.commands.tables import Config, fill, run, show
from world_model.errors import DataError, InputError
from world_model.results import Metric, write_results

PAGE = "# Title\n\n<!-- tables: results/*.json -->\nold\n<!-- end of tables -->\n\nThe end.\n"


@pytest.fixture
def folder(tmp_path):
    write_results(
        tmp_path / "results" / "pusht-video.json",
        command="simforcing evaluate video --json results/pusht-video.json",
        checkpoint="0123456789abcdef",
        contract="fedcba9876543210",
        device={"processor": "Some CPU", "threads": 1, "dtype": "bfloat16"},
        sampler_steps=1,
        seeds=[900000, 900001, 900002, 900003, 900004],
        metrics={
            "psnr_h16": Metric(31.4159, 30.9, 32.0, 200, "dB"),
            "best_shift": Metric(0, n=200),
            "own_name": Metric(0.00012),
        },
    )
    (tmp_path / "README.md").write_text(PAGE)
    return tmp_path


def test_a_table_holds_value_interval_n_and_where_it_came_from(folder):
    text = fill(PAGE, folder)
    assert text.startswith("# Title\n")
    assert text.endswith("<!-- end of tables -->\n\nThe end.\n")
    assert "old" not in text
    assert "| PSNR, frame 16 | 31.4 dB | 30.9 to 32 | 200 |\n" in text
    assert "| action shift with the best PSNR (0 is right) | 0 |  | 200 |\n" in text
    assert "| `own_name` | 1.2e-04 |  |  |\n" in text
    assert "`simforcing evaluate video --json results/pusht-video.json`" in text
    assert (
        "[pusht-video.json](results/pusht-video.json): checkpoint 0123456789abcdef; 1 sampler step; "
        "seeds 900000 to 900004 (5); Some CPU, 1 thread, bfloat16." in text
    )


def test_filling_twice_changes_nothing(folder):
    once = fill(PAGE, folder)
    assert fill(once, folder) == once


def test_csv_becomes_a_table_and_no_file_says_so(folder):
    (folder / "results" / "codecs.csv").write_text("codec,PSNR\npca,30.1\nnano|b,38.2\n")
    page = (
        "<!-- tables: results/codecs.csv -->\n<!-- end of tables -->\n<!-- tables: none/* -->\n<!-- end of tables -->"
    )
    text = fill(page, folder)
    assert "| codec | PSNR |\n| --- | ---: |\n| pca | 30.1 |\n| nano\\|b | 38.2 |\n" in text
    assert "Not measured yet.\n" in text


def test_csv_beside_its_results_file_names_command_and_source(folder):
    (folder / "results" / "pusht-video.csv").write_text("form,PSNR\na,30.1\n")
    text = fill("<!-- tables: results/pusht-video.csv -->\n<!-- end of tables -->", folder)
    command, table, source = text.split("\n\n")
    assert command.endswith("`simforcing evaluate video --json results/pusht-video.json`")
    assert table == "| form | PSNR |\n| --- | ---: |\n| a | 30.1 |"
    assert source.startswith("[pusht-video.csv](results/pusht-video.csv): checkpoint 0123456789abcdef; ")


def test_names_choose_rows(folder):
    page = "<!-- tables: results/pusht-video.json best_shift psnr_h16 -->\n<!-- end of tables -->"
    rows = [line for line in fill(page, folder).splitlines() if line.startswith("| ")]
    assert [row.split(" | ")[0] for row in rows[2:]] == [
        "| action shift with the best PSNR (0 is right)",
        "| PSNR, frame 16",
    ]
    with pytest.raises(InputError, match=r"asks for 'psnr_h99' .* name one of psnr_h16, best_shift, own_name"):
        fill(page.replace("psnr_h16", "psnr_h99"), folder)


def test_check_tells_an_old_page_from_a_new_one(folder, capsys):
    page = folder / "README.md"
    with pytest.raises(SystemExit) as end:
        run(Config(files=(page,), check=True))
    assert end.value.code == 1
    assert page.read_text() == PAGE
    run(Config(files=(page,)))
    run(Config(files=(page,), check=True))
    assert capsys.readouterr().out.endswith("README.md is up to date\n")
    assert sorted(p.name for p in folder.iterdir()) == ["README.md", "results"]


def test_mistakes_get_a_sentence(folder):
    with pytest.raises(InputError, match="no file"):
        run(Config(files=(folder / "ABSENT.md",)))
    with pytest.raises(InputError, match="no table markers"):
        fill("plain text", folder)
    (folder / "results" / "broken.json").write_text("{")
    with pytest.raises(DataError, match=r"broken\.json is not a results file"):
        fill(PAGE, folder)


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (3.0, "3"), (1234.5, "1234"), (12.34, "12.3"), (1.234, "1.23"), (0.0512, "0.051")]
)
def test_numbers_are_short(value, text):
    assert show(value) == text


def test_the_pages_are_up_to_date(root):
    done = subprocess.run(
        [sys.executable, "-m", "simforcing_env.commands.main", "tables", "--check"],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr
