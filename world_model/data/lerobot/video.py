"""Frames in mp4: H.264 without loss in RGB, so that what is read is what was drawn."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import av
import numpy as np
from av.video.stream import VideoStream
from numpy.typing import NDArray

from world_model.errors import DataError

# Quantiser 0 is lossless; a key frame every 8 frames keeps seeking short; B frames would cost order.
OPTIONS = {"qp": "0", "g": "8", "bf": "0", "preset": "veryfast"}
LARGEST_SIDE = 8192  # pixels
LFS_MARK = b"version https://git-lfs"


class VideoWriter:
    """One mp4 of equally spaced RGB frames; use it as a context."""

    def __init__(self, path: Path, height: int, width: int, fps: float) -> None:
        self.frames = 0
        self._container = av.open(str(path), "w")
        self._stream = self._container.add_stream(
            "libx264rgb", rate=Fraction(fps).limit_denominator(1000), options=OPTIONS
        )
        self._stream.height, self._stream.width, self._stream.pix_fmt = height, width, "rgb24"
        self._stream.thread_count = 1  # the bytes must not depend on the machine's cores

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._container.mux(self._stream.encode())
        self._container.close()

    def add(self, frames: NDArray[np.uint8]) -> None:
        """Append ``(T, H, W, 3)`` uint8 frames."""
        for frame in frames:
            self._container.mux(self._stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        self.frames += len(frames)


class VideoReader:
    """Exact frames of one mp4 by their number; going forward costs no seek."""

    def __init__(self, path: Path) -> None:
        """Open ``path``.

        Raises:
            DataError: not there, a Git LFS pointer, or not a video.
        """
        self.path = path
        require_real_file(path)
        try:
            self._container = av.open(str(path))
            self._stream: VideoStream = self._container.streams.video[0]
        except (av.FFmpegError, IndexError) as error:
            raise DataError(
                f"video {path} cannot be opened ({error}); it is cut off or damaged, copy it again"
            ) from error
        self._stream.thread_count = 1  # small frames: threads cost more than they give
        self._stream.codec_context.options = {"err_detect": "explode"}  # else damage is painted over silently
        rate, base = self._stream.average_rate, self._stream.time_base
        if rate is None or base is None:
            raise DataError(f"video {path} has no frame rate; it is damaged, copy it again")
        self._ticks = 1 / (rate * base)  # of the stream's clock per frame
        if not (0 < self._stream.width <= LARGEST_SIDE and 0 < self._stream.height <= LARGEST_SIDE):
            raise DataError(
                f"video {path} says it is {self._stream.width} x {self._stream.height}; it is damaged, copy it again"
            )
        self._frames = self._container.decode(self._stream)
        self._next = 0

    @property
    def size(self) -> tuple[int, int]:
        """Height and width."""
        return self._stream.height, self._stream.width

    @property
    def fps(self) -> float:
        """Frames per second, as the container has it."""
        return float(self._stream.average_rate or 0)

    def stream(self, first: int = 0) -> Iterator[NDArray[np.uint8]]:
        """Frames ``(H, W, 3)`` RGB from ``first`` to the end, one at a time; FFmpeg's errors come as they are."""
        if first:
            self._container.seek(round(first * self._ticks), stream=self._stream)
        for frame in self._container.decode(self._stream):
            if not first or frame.pts is None or round(frame.pts / self._ticks) >= first:
                yield _pixels(frame)

    def read(self, first: int, count: int) -> NDArray[np.uint8]:
        """Frames ``first`` to ``first + count`` (exclusive), ``(count, H, W, 3)`` RGB.

        Raises:
            DataError: the video is shorter, or damaged there.
        """
        out: list[NDArray[np.uint8]] = []
        try:
            if first != self._next:
                self._container.seek(round(first * self._ticks), stream=self._stream)
                self._frames = self._container.decode(self._stream)
            while len(out) < count:
                frame = next(self._frames)
                if frame.pts is not None and round(frame.pts / self._ticks) >= first:
                    out.append(_pixels(frame))
        except StopIteration:
            raise DataError(
                f"video {self.path} ends after {len(out)} of {count} frames from frame {first}; copy it again"
            ) from None
        except av.FFmpegError as error:
            raise DataError(
                f"video {self.path} is damaged after frame {first + len(out)} ({error}); copy it again"
            ) from error
        self._next = first + count
        return np.stack(out)

    def close(self) -> None:
        self._container.close()


def require_real_file(path: Path) -> None:
    """Raise `DataError` for a file that is missing, empty or only a Git LFS pointer."""
    if not path.is_file():
        raise DataError(f"{path} is missing; check the path, or copy the data set again with all its files")
    with path.open("rb") as file:
        head = file.read(len(LFS_MARK))
    if head == LFS_MARK:
        raise DataError(f"{path} is a Git LFS pointer, not the file itself; run 'git lfs pull' where it came from")
    if not head:
        raise DataError(f"{path} is empty; copy the data set again")


def _pixels(frame: av.VideoFrame) -> NDArray[np.uint8]:
    # The planes of our own videos are read as they lie, which is four times as fast as a conversion.
    array = frame.to_ndarray() if frame.format.name == "gbrp" else frame.to_ndarray(format="rgb24")
    return array.astype(np.uint8, copy=False)
