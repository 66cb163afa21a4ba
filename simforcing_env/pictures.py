"""Pictures and films of generated frames, for people to look at."""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Picture = NDArray[np.uint8]  # (H, W, 3) RGB


def caption(text: str, width: int, height: int = 18) -> Picture:
    """One line of dark text on white, ``(height, width, 3)``; what does not fit is cut off."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (width, height), "white")
    place = (4, (height - 12) // 2)
    ImageDraw.Draw(image).text(place, text, fill="black", font=ImageFont.load_default(12))
    return np.asarray(image)


def row(pictures: Sequence[Picture], gap: int = 0) -> Picture:
    """Pictures of one height side by side, ``gap`` white pixels between them."""
    space = np.full((pictures[0].shape[0], gap, 3), 255, np.uint8)
    parts = [part for picture in pictures for part in (picture, space)][:-1]
    return np.concatenate(parts, axis=1)


def column(pictures: Sequence[Picture], gap: int = 0) -> Picture:
    """Pictures on top of one another, the narrower ones filled up with white on the right."""
    width = max(picture.shape[1] for picture in pictures)
    space = np.full((gap, width, 3), 255, np.uint8)
    wide = [np.pad(p, ((0, 0), (0, width - p.shape[1]), (0, 0)), constant_values=255) for p in pictures]
    return np.concatenate([part for picture in wide for part in (picture, space)][:-1], axis=0)


def write_png(path: Path, picture: Picture, widest: int | None = None) -> None:
    """Write a picture, one wider than ``widest`` px shrunk to it; the file appears whole or not at all."""
    from PIL import Image

    temporary = _temporary(path)
    image = Image.fromarray(picture)
    if widest is not None and image.width > widest:
        image = image.resize((widest, round(image.height * widest / image.width)), Image.Resampling.LANCZOS)
    image.save(temporary)
    temporary.replace(path)


def write_mp4(path: Path, frames: Sequence[Picture], fps: float) -> None:
    """Write pictures of one size as H.264 that every player takes; the file appears whole or not at all."""
    import av

    temporary = _temporary(path)
    height, width = (side - side % 2 for side in frames[0].shape[:2])  # the format's chroma wants even sides
    with av.open(str(temporary), "w") as container:
        stream = container.add_stream("libx264", rate=Fraction(fps).limit_denominator(1000), options={"crf": "18"})
        stream.height, stream.width, stream.pix_fmt = height, width, "yuv420p"
        for frame in frames:
            picture = np.ascontiguousarray(frame[:height, :width])
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    temporary.replace(path)


def _temporary(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return path.with_name(f".{os.getpid()}.{path.name}")
