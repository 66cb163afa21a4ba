"""Every registered command is there, is frozen, and explains each of its options."""

import ast
import dataclasses
import importlib
import inspect
import itertools
import re
import subprocess
import sys
import textwrap
import typing

import pytest

from simforcing_env.commands.registry import COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_the_command_explains_every_option(name):
    command = COMMANDS[name]
    module = importlib.import_module(command.module)
    config = getattr(module, command.config)
    assert dataclasses.is_dataclass(config)
    assert config.__dataclass_params__.frozen
    assert callable(getattr(module, command.function))
    assert sorted(unexplained(config)) == []


def test_the_readme_names_every_command(root):
    """In its table, where a group's further commands stand without the group."""
    lines = (root / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [line.partition(" | ")[0] for line in lines if line.startswith("| `simforcing ")]
    groups = [re.findall(r"`(?:simforcing )?([^`]+)`", row) for row in rows]
    named = {name for names in groups for name in (*names, *(f"{names[0].split()[0]} {name}" for name in names))}
    assert sorted(set(COMMANDS) - named) == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_runs_without_the_heavy_packages(name):
    code = (
        "import sys; from simforcing_env.commands.main import main\n"
        f"try: main({[*name.split(), '--help']!r})\n"
        "except SystemExit as end: assert not end.code\n"
        "print(*sorted({'torch', 'diffusers', 'mujoco', 'gym_pusht', 'pyarrow'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stderr.strip() == ""
    assert f"simforcing {name}" in done.stdout


def unexplained(config, path=""):
    """Fields of a config, and of configs within it, with neither a docstring below them nor a comment beside them."""
    hints = typing.get_type_hints(config)
    for field in dataclasses.fields(config):
        inner = [t for t in (hints[field.name], *typing.get_args(hints[field.name])) if dataclasses.is_dataclass(t)]
        for nested in inner:
            yield from unexplained(nested, f"{path}{field.name}.")
        owner = next(c for c in config.__mro__ if field.name in vars(c).get("__annotations__", {}))
        if not inner and field.init and field.name not in explained(owner):
            yield path + field.name


def explained(config):
    source = textwrap.dedent(inspect.getsource(config))
    lines = source.splitlines()
    body = ast.parse(source).body[0].body
    for node, after in itertools.zip_longest(body, body[1:]):
        if isinstance(node, ast.AnnAssign):
            below = isinstance(after, ast.Expr) and isinstance(getattr(after.value, "value", None), str)
            beside = "#" in lines[node.end_lineno - 1][node.end_col_offset :]
            if below or beside:
                yield node.target.id


def test_an_unexplained_option_is_noticed():
    assert list(unexplained(Outer)) == ["inner.silent", "quiet"]


@dataclasses.dataclass(frozen=True)
class Inner:
    told: int = 1  # what it is
    silent: int = 2


@dataclasses.dataclass(frozen=True)
class Outer:
    inner: Inner
    loud: int = 1
    """What it is."""
    quiet: int = 2
