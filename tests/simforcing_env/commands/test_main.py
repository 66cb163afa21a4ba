"""The command line as real child processes: help, mistakes, missing extras, interrupts."""

import resource
import signal
import subprocess
import sys
import sysconfig
import textwrap
from pathlib import Path

import pytest

from simforcing_env.commands.registry import COMMANDS

SIMFORCING = [sys.executable, "-m", "simforcing_env.commands.main"]

PROBE = '''
"""A command for the tests."""

from dataclasses import dataclass

import LAZY

from world_model.errors import InputError
from world_model.extras import require


@dataclass(frozen=True)
class Config:
    """What the probe does."""

    what: str
    """Which of its ways to end."""
    times: int = 3
    """How often it does it."""


def run(config):
    if config.what == "input":
        raise InputError("the value is 7 but must be 3; send 3")
    if config.what == "file":
        open("/nowhere/at/all")
    if config.what == "read-only":
        raise OSError(30, "Read-only file system", "/cdrom/x.json")
    if config.what == "full":
        raise OSError(28, "No space left on device")
    if config.what == "bug":
        raise ZeroDivisionError("a bug, not a mistake of the user")
    if config.what == "require":
        require("bddl_is_not_a_module", "libero")
    if config.what == "loop":
        print("looping", flush=True)
        while True:
            pass
    if config.what == "flood":
        for i in range(100_000):
            print(f"line {i}")
    print(f"done {config.times} times")
'''

LAUNCH = textwrap.dedent(
    """
    import sys
    from simforcing_env.commands.main import main
    from simforcing_env.commands.registry import Command
    sys.exit(main(commands={"probe deep": Command("probe_command", "end in one of several ways")}))
    """
)


def run(*arguments, **options):
    return subprocess.run([*SIMFORCING, *arguments], capture_output=True, text=True, timeout=60, **options)


@pytest.fixture
def probe(tmp_path):
    """Starts the probe command in a child process; ``lazy`` is a module that the command imports."""

    def start(*arguments, lazy="json", **options):
        (tmp_path / "probe_command.py").write_text(PROBE.replace("LAZY", lazy))
        (tmp_path / "launch.py").write_text(LAUNCH)
        command = [sys.executable, str(tmp_path / "launch.py"), "probe", "deep", *arguments]
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(command, **streams, **options)

    return start


def finish(child):
    out, err = child.communicate(timeout=60)
    return child.returncode, out, err


def test_help_lists_every_command_and_imports_no_torch():
    done = run("--help")
    assert done.returncode == 0
    for name, command in COMMANDS.items():
        assert f"  {name} " in done.stdout
        assert command.summary in done.stdout
    code = (
        "import sys; from simforcing_env.commands.main import main; main(['--help'])\n"
        "assert not {'torch', 'scipy', 'pyarrow', 'tyro'} & set(sys.modules), sorted(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_help_is_quick():
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run("--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


def test_the_installed_script_is_the_same_program():
    script = Path(sysconfig.get_path("scripts")) / "simforcing"
    assert subprocess.run([script, "--help"], capture_output=True, text=True).stdout == run("--help").stdout
    assert run("--version").stdout.count(".") == 2


def test_a_group_lists_its_commands():
    done = run("evaluate")
    assert done.returncode == 0
    assert "evaluate video" in done.stdout
    assert "collect" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["trian"], "there is no command 'trian'; did you mean 'train'? see simforcing --help"),
        (["bench", "evn"], "there is no command 'bench evn'; did you mean 'bench env'? see simforcing --help"),
        (["xyzzy"], "there is no command 'xyzzy'; see simforcing --help"),
    ],
)
def test_an_unknown_command_gets_one_sentence(arguments, sentence):
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"simforcing: {sentence}\n"


def test_options_reach_the_command(probe):
    code, out, err = finish(probe("--what", "finish", "--times", "5"))
    assert (code, out, err) == (0, "done 5 times\n", "")


def test_help_of_a_command_explains_its_options(probe):
    code, out, _ = finish(probe("--help"))
    assert code == 0
    for text in ("End in one of several ways.", "A command for the tests.", "Which of its ways to end.", "How often"):
        assert text in out


def test_a_wrong_option_exits_with_2_and_no_traceback(probe):
    code, out, err = finish(probe("--wat", "x"))
    assert code == 2
    assert "--wat" in out + err
    assert "Traceback" not in out + err


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("input", "the value is 7 but must be 3; send 3"),
        ("file", "cannot use /nowhere/at/all: No such file or directory; check the path"),
        ("read-only", "cannot use /cdrom/x.json: Read-only file system; check the path"),
        ("full", "no space is left on the disk; free some and give the same command again"),
        ("require", 'bddl_is_not_a_module is not installed; run: pip install "simforcing-env[libero]"'),
    ],
)
def test_a_users_mistake_is_one_line_and_exit_2(probe, what, sentence):
    code, out, err = finish(probe("--what", what))
    assert (code, out) == (2, "")
    assert err == f"simforcing: {sentence}\n"


def test_a_missing_extra_at_import_names_the_pip_line(probe):
    code, _, err = finish(probe("--what", "finish", lazy="bddl.never_there"))
    assert code == 2
    assert err.startswith("simforcing: bddl")
    assert err.endswith('is not installed; run: pip install "simforcing-env[libero]"\n')


def test_a_bug_keeps_its_traceback(probe):
    code, _, err = finish(probe("--what", "bug"))
    assert code == 1
    assert "Traceback" in err
    assert "ZeroDivisionError" in err


def test_an_interrupt_ends_with_130_and_no_traceback(probe):
    # A shell starts its background jobs with the signal ignored, and children inherit that.
    child = probe("--what", "loop", preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    assert child.stdout.readline() == "looping\n"
    child.send_signal(signal.SIGINT)
    code, _, err = finish(child)
    assert code == 130
    assert err == "interrupted\n"


def test_a_reader_that_leaves_is_no_traceback(probe):
    child = probe("--what", "flood")
    assert child.stdout.readline() == "line 0\n"
    child.stdout.close()
    assert "Traceback" not in child.stderr.read()
    child.stderr.close()
    child.wait(60)
