"""Tables, pictures and films of tracks beside a results file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simforcing_env.evaluation.pictures import LABEL, framed, headings, text
from simforcing_env.evaluation.plots import figure, save_figure
from simforcing_env.evaluation.tables import write_csv
from simforcing_env.evaluation.tracks import Track, curve_of
from simforcing_env.pictures import Picture, caption, column, row, write_mp4, write_png
from world_model.metrics.resampling import Curve

GAIN = 4  # of error maps: a difference of 64 levels is white
SHOWN = 7  # frames of each track in the picture
SIDE = 192  # px, about the side of a frame in films
RANKS = ("best", "median", "worst")
TITLES = {
    "psnr": "PSNR, dB",
    "psnr_grey": "grey PSNR, dB",
    "ssim": "SSIM",
    "ssim_grey": "grey SSIM",
    "latent_l2": "latent L2",
    "lpips": "LPIPS",
}


def error_map(frames: NDArray[np.uint8], truth: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Where ``(..., H, W, 3)`` frames differ: equal is black, then red, yellow, and white from 64 of 255 levels on."""
    part = np.abs(frames.astype(np.float32) - truth.astype(np.float32)).mean(-1) * (GAIN / 255)
    heat = np.stack([part * 3, part * 3 - 1, part * 3 - 2], -1).clip(0, 1)
    return np.round(255 * heat).astype(np.uint8)


def ranked(tracks: Sequence[Track]) -> dict[str, Track]:
    """The best, the median and the worst track by colour PSNR; fewer tracks give fewer ranks."""
    order = sorted(tracks, key=lambda track: -track.quality)
    places = {"best": 0, "median": len(order) // 2, "worst": len(order) - 1}
    chosen: dict[str, Track] = {}
    for name in RANKS:
        track = order[places[name]]
        if not any(track is other for other in chosen.values()):
            chosen[name] = track
    return chosen


def track_sheet(chosen: dict[str, Track], hz: float) -> Picture:
    """Each track's true frames, generated ones and error maps below one another."""
    parts: list[Picture] = []
    for name, track in chosen.items():
        at = np.unique(np.linspace(0, len(track) - 1, SHOWN - 1).round().astype(int))
        scale = _scale(track.known)
        side = framed(track.known, scale).shape[1]
        parts.append(headings(["known", *(f"frame {k + 1}, {(k + 1) / hz:.1f} s" for k in at)], side))
        facts = [f"true ({name})", track.start, track.behaviour, f"PSNR {track.quality:.1f} dB"]
        errors = error_map(track.frames, track.truth)
        strips = (
            (facts, track.known, track.truth),
            (["generated"], track.known, track.frames),
            ([f"difference x {GAIN}"], np.zeros_like(track.known), errors),
        )
        for lines, first, frames in strips:
            strip = row([framed(picture, scale) for picture in (first, *(frames[k] for k in at))])
            parts.append(row([text(lines, LABEL, strip.shape[0]), strip]))
        parts.append(np.full((8, 1, 3), 255, np.uint8))
    return column(parts)


def film(track: Track) -> list[Picture]:
    """True, generated and difference side by side, frame by frame, from the known frame on."""
    scale = max(1, round(SIDE / track.known.shape[0]))
    shown = []
    for k in range(len(track) + 1):
        true = track.known if k == 0 else track.truth[k - 1]
        made = track.known if k == 0 else track.frames[k - 1]
        strip = row([framed(picture, scale) for picture in (true, made, error_map(made, true))], gap=4)
        third = strip.shape[1] // 3
        titles = row([caption(t, third) for t in (f"true, frame {k}", "generated", f"difference x {GAIN}")])
        shown.append(column([titles, strip]))
    return shown


def write_track_files(
    path: Path,
    tracks: Sequence[Track],
    plotted: Sequence[str],
    hz: float,
    generator: np.random.Generator,
    compared: dict[str, NDArray[np.float64]] | None = None,
) -> list[str]:
    """``<stem>-tracks.csv``, ``<stem>-curves.csv``; in media/ two pictures and a film of each rank; their names."""
    names = list(tracks[0].curves)
    curves = {name: curve_of(tracks, name, generator) for name in names}
    heading = ["start", "behaviour", "known_frame", "frames", *names]
    rows = [
        [t.start, t.behaviour, t.first, len(t), *(f"{t.curves[name].mean():.5g}" for name in names)] for t in tracks
    ]
    write_csv(path.with_name(f"{path.stem}-tracks.csv"), heading, rows)
    _write_curves(path.with_name(f"{path.stem}-curves.csv"), curves, compared or {})
    media = path.parent / "media"
    drawn = curve_figure({name: curves[name] for name in plotted if name in curves}, curves, hz, compared or {})
    save_figure(media / f"{path.stem}-curves.png", drawn)
    chosen = ranked(tracks)
    write_png(media / f"{path.stem}.png", track_sheet(chosen, hz))
    for name, track in chosen.items():
        write_mp4(media / f"{path.stem}-{name}.mp4", film(track), min(hz, 10.0))
    return list(chosen)


def _write_curves(path: Path, curves: dict[str, Curve], compared: dict[str, NDArray[np.float64]]) -> None:
    length = len(next(iter(curves.values())).mean)
    heading = ["frame", "episodes"]
    heading += [f"{name}{part}" for name in curves for part in ("", "_low", "_high")] + list(compared)
    rows: list[list[object]] = []
    for k in range(length):
        held: list[object] = [k + 1, int(next(iter(curves.values())).groups[k])]
        held += [_number(value[k]) for c in curves.values() for value in (c.mean, c.low, c.high)]
        rows.append(held + [_number(values.mean(0)[k]) for values in compared.values()])
    write_csv(path, heading, rows)


def _number(value: float) -> str:
    return f"{value:.5g}" if np.isfinite(value) else ""


def curve_figure(
    plotted: dict[str, Curve], curves: dict[str, Curve], hz: float, compared: dict[str, NDArray[np.float64]]
) -> object:
    """Each measure by generated frame with its interval; copying and other actions beside it where they are known."""
    drawn, axes = figure(3.6 * len(plotted), 3.2, len(plotted))
    for axis, (name, curve) in zip(axes, plotted.items(), strict=True):
        frames = np.arange(1, len(curve.mean) + 1)
        axis.plot(frames, curve.mean, label="generated")
        axis.fill_between(frames, curve.low, curve.high, alpha=0.25, linewidth=0)
        for suffix, title, style in (("_copy", "copy of the known frame", "--"), ("_8bit_carry", "8-bit carry", ":")):
            if name + suffix in curves:
                axis.plot(frames, curves[name + suffix].mean, style, label=title)
        if name == "psnr":
            for other, values in compared.items():
                axis.plot(frames, values.mean(0), linewidth=0.8, label=other.removeprefix("psnr_") + " actions")
        axis.set(xlabel=f"generated frame ({hz:g} a second)", ylabel=TITLES.get(name, name))
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    return drawn


def _scale(frame: Picture) -> int:
    return max(1, round(96 / frame.shape[0]))
