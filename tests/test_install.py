"""What pip installs: a wheel that holds the code and the weights, and pins that fit the declared bounds."""

import ast
import importlib.metadata
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from world_model.errors import MissingExtraError
from world_model.extras import EXTRAS, absent, extra_of, missing, require

ROOMS = ("world_model", "teachers", "simforcing_env")
ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GROUPS = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
REQUIREMENTS = [Requirement(text) for group in GROUPS for text in group]


LINES = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
PINS = {canonicalize_name(name): version for name, version in (line.split("==") for line in LINES)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Names of the files in the wheel, built from a copy so that the working tree stays as it is."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for room in ROOMS:
        shutil.copytree(ROOT / room, source / room, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "-w", out, source], check=True, capture_output=True, timeout=120)
    return next(out.glob("simforcing_env-*.whl"))


def test_the_wheel_holds_all_code_types_and_weights(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    code = {str(p.relative_to(ROOT)) for room in ROOMS for p in (ROOT / room).rglob("*.py")}
    weights = {str(p.relative_to(ROOT)) for p in (ROOT / "simforcing_env" / "weights").rglob("*") if p.is_file()}
    typed = {f"{room}/py.typed" for room in ROOMS}
    assert sorted((code | weights | typed) - names) == []
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0] for name in names if not name.split("/")[0].endswith(".dist-info")} == set(ROOMS)


def test_the_wheel_runs_without_the_repository(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)
    code = (
        "import simforcing_env, world_model; print(world_model.__file__)\n"
        "from simforcing_env.commands.main import main; main([])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(str(tmp_path))
    assert "usage: simforcing" in done.stdout


@pytest.mark.parametrize("requirement", REQUIREMENTS, ids=str)
def test_every_requirement_has_a_pin_within_its_bounds(requirement):
    assert requirement.specifier, "give a lower bound"
    assert requirement.specifier.contains(PINS[canonicalize_name(requirement.name)])


def test_the_extras_known_in_code_are_those_of_the_distribution():
    assert set(EXTRAS) == set(PROJECT["optional-dependencies"])


def test_a_missing_package_is_told_with_its_pip_line(tmp_path, monkeypatch):
    with pytest.raises(MissingExtraError, match=r'pip install "simforcing-env\[libero\]"'):
        require("no_such_simulator", "libero")
    (tmp_path / "half_installed.py").write_text("import its_own_missing_dependency")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtraError, match="its_own_missing_dependency is not installed"):
        require("half_installed", "pusht")
    assert isinstance(missing("x", "rl"), ImportError)
    assert require("json", "dev").loads("1") == 1


def test_modules_lead_to_their_extra():
    assert extra_of("gym_pusht.envs.pusht") == "pusht"
    assert extra_of("torch") is None
    assert absent("dev") == []


def test_make_and_ci_say_what_they_do():
    done = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True)
    for target in ("demo", "test", "test-all", "lint", "tables"):
        assert f"make {target} " in done.stdout
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", script], check=True)


def third_party_imports():
    """Distributions that the packages import, by the files that import them."""
    providers = importlib.metadata.packages_distributions()
    found: dict[str, set[str]] = {}
    for path in (p for room in ROOMS for p in (ROOT / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            for top in {name.partition(".")[0] for name in names} - set(sys.stdlib_module_names) - set(ROOMS):
                for provider in providers.get(top, [top])[:1]:
                    found.setdefault(canonicalize_name(provider), set()).add(str(path.relative_to(ROOT)))
    return found


def test_what_is_imported_is_declared_and_what_is_required_is_imported():
    found = third_party_imports()
    declared = {canonicalize_name(requirement.name) for requirement in REQUIREMENTS}
    assert {name: files for name, files in found.items() if name not in declared} == {}
    core = {canonicalize_name(Requirement(text).name) for text in PROJECT["dependencies"]}
    assert sorted(core - set(found)) == []
