"""One way to tell that a file is damaged, whatever library stumbled over it."""

from __future__ import annotations

import binascii
import struct
import textwrap
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import av
import pyarrow as pa

from world_model.errors import DataError, SimforcingError

STUMBLES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
    av.FFmpegError,
    binascii.Error,
    pa.ArrowException,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""What parsers raise on bytes that are not what they should be."""
MEND = "it is damaged, cut off or laid out otherwise; copy it again or leave it out"


@contextmanager
def reading(path: Path, episode: str = "") -> Iterator[None]:
    """Tell of any stumble inside as a `DataError` that names ``path`` and the episode.

    Errors that are sentences already get the file and the episode in front where they lack them.
    """
    where = f"episode {episode}: " if episode else ""
    try:
        yield
    except SimforcingError as error:
        text = " ".join(str(error).split())
        if where and where in text:  # told by an inner `reading`
            raise
        named = text if str(path) in text or str(path.parent) in text else f"{path}: {text}"
        raise type(error)(f"{where}{named}") from error
    except STUMBLES as error:
        reason = textwrap.shorten(str(error) or type(error).__name__, 160, placeholder=" ...")
        raise DataError(f"{where}{path} cannot be read ({reason}); {MEND}") from error


def refuse(path: Path, episode: str, what: str, mend: str = "copy it again or leave it out") -> DataError:
    """The error for a file whose contents do not fit together."""
    where = f"episode {episode}: " if episode else ""
    return DataError(f"{where}{path} {what}; {mend}")
