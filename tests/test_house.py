"""The rooms of the house: imports go one way, files stay short, packages are whole, the top import is quick."""

import ast
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SIMULATORS = {"mujoco", "robosuite", "libero", "gym_pusht", "pymunk", "pygame", "bddl"}
FORBIDDEN = {
    "world_model": SIMULATORS | {"gymnasium", "stable_baselines3", "teachers", "simforcing_env"},
    "teachers": {"simforcing_env"},
    "simforcing_env": SIMULATORS,
}
ALLOWED = {"simforcing_env/commands/bench_env.py": {"gym_pusht"}}  # measures the stock environment beside ours
SOURCES = [path for room in FORBIDDEN for path in sorted((ROOT / room).rglob("*.py"))]
SIZED = SOURCES + [p for folder in ("tests", "examples") for p in sorted((ROOT / folder).rglob("*.py"))]


def imports(path):
    """Top-level names of every import of a file, lazy ones included, with `require("name", ...)` calls."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require" and node.args:
            argument = node.args[0]
            if isinstance(argument, ast.Constant):
                yield argument.value.partition(".")[0]


@pytest.mark.parametrize("room", FORBIDDEN)
def test_imports_go_one_way(room):
    wrong = {
        name: sorted(found)
        for path in sorted((ROOT / room).rglob("*.py"))
        if (found := FORBIDDEN[room] & set(imports(path)) - ALLOWED.get(name := str(path.relative_to(ROOT)), set()))
    }
    assert wrong == {}


def test_no_file_is_longer_than_400_lines():
    lengths = {str(p.relative_to(ROOT)): len(p.read_text(encoding="utf-8").splitlines()) for p in SIZED}
    assert {path: n for path, n in lengths.items() if n > 400} == {}


def test_every_folder_of_code_is_a_package():
    folders = {path.parent for path in SOURCES}
    assert [str(f.relative_to(ROOT)) for f in sorted(folders) if not (f / "__init__.py").is_file()] == []


def test_the_top_import_is_quick_and_light():
    code = (
        "import sys, simforcing_env\n"
        "heavy = {'torch', 'diffusers', 'pyarrow', 'av', 'scipy', 'matplotlib', 'mujoco', 'gym_pusht', 'pygame'}\n"
        "print(*sorted(heavy & set(sys.modules)))"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.strip() == ""
    # Processor time: the clock would also count what other processes do.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0


SEEDERS = {"torch.manual_seed", "np.random.seed", "numpy.random.seed", "random.seed"}


def global_seeds(node, forked=False):
    """Lines that seed a global generator outside of ``with torch.random.fork_rng()``, which puts it back."""
    if isinstance(node, ast.With):
        forked = forked or any("fork_rng" in ast.unparse(item.context_expr) for item in node.items)
    if isinstance(node, ast.Call) and not forked and ast.unparse(node.func) in SEEDERS:
        yield node.lineno
    for child in ast.iter_child_nodes(node):
        yield from global_seeds(child, forked)


def test_nothing_seeds_globally():
    found = {
        str(path.relative_to(ROOT)): lines
        for path in SOURCES
        if (lines := list(global_seeds(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert found == {}


def test_nothing_is_unpickled():
    banned = re.compile(r"\bpickle\.loads?\(|weights_only=False|allow_pickle=True")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in SOURCES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if banned.search(line)
    ]
    assert found == []
