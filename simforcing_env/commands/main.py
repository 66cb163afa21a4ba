"""Entry point of the ``simforcing`` command.

Exit status: 0 done, 1 a check did not pass, 2 a mistake that the user can mend (one line on stderr), 130 interrupted.
"""

from __future__ import annotations

import difflib
import errno
import importlib
import os
import sys
from collections.abc import Mapping, Sequence

from simforcing_env.commands.registry import COMMANDS, Command
from world_model.errors import SimforcingError
from world_model.extras import extra_of, missing

PROGRAM = "simforcing"


def main(arguments: Sequence[str] | None = None, commands: Mapping[str, Command] = COMMANDS) -> int:
    """Run one of ``commands`` and return the exit status. ``SIMFORCING_TRACEBACK=1`` keeps tracebacks."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    if os.environ.get("SIMFORCING_TRACEBACK") == "1":
        return _dispatch(words, commands)
    try:
        return _dispatch(words, commands)
    except SimforcingError as error:
        return _mistake(str(error))
    except ModuleNotFoundError as error:
        extra = extra_of(error.name or "")
        if extra is None:
            raise
        return _mistake(str(missing(error.name or "", extra)))
    except BrokenPipeError:
        # The reader of a pipe left (`simforcing ... | head`); stdout is replaced so that exit does not write again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.errno == errno.ENOSPC:
            return _mistake("no space is left on the disk; free some and give the same command again")
        if error.filename is None:
            raise
        return _mistake(f"cannot use {error.filename}: {error.strerror}; check the path")
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _dispatch(words: list[str], commands: Mapping[str, Command]) -> int:
    if not words or words[0] in ("-h", "--help"):
        print(overview(commands))
        return 0
    if words[0] == "--version":
        from importlib.metadata import version

        print(version("simforcing-env"))
        return 0
    for length in (2, 1):
        name = " ".join(words[:length])
        if name in commands:
            return _run(name, commands[name], words[length:])
    group = [name for name in commands if name.startswith(f"{words[0]} ")]
    if group and words[1:] in ([], ["-h"], ["--help"]):
        print(overview({name: commands[name] for name in group}))
        return 0
    tried = " ".join(words[:2]) if group else words[0]
    known = group or [*commands, *(name.split()[0] for name in commands)]
    near = difflib.get_close_matches(tried, known, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return _mistake(f"there is no command {tried!r}; {hint}see {PROGRAM} --help")


def _run(name: str, command: Command, words: list[str]) -> int:
    module = importlib.import_module(command.module)
    import tyro

    description = f"{command.summary[0].upper()}{command.summary[1:]}.\n\n{(module.__doc__ or '').strip()}"
    config = tyro.cli(getattr(module, command.config), prog=f"{PROGRAM} {name}", description=description, args=words)
    getattr(module, command.function)(config)
    return 0


def overview(commands: Mapping[str, Command]) -> str:
    """The commands, a line each."""
    width = max(len(name) for name in commands)
    lines = [f"usage: {PROGRAM} COMMAND [OPTIONS]", ""]
    lines += [f"  {name:<{width}}  {command.summary}" for name, command in commands.items()]
    return "\n".join([*lines, "", f"{PROGRAM} COMMAND --help explains every option of a command."])


def _mistake(sentence: str) -> int:
    print(f"{PROGRAM}: {sentence}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    raise SystemExit(main())
