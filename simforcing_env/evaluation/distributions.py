"""FID and FVD of generated windows, or what would be needed for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from world_model.checkpoint import sha256
from world_model.metrics.frechet import frechet_distance, halves_distance
from world_model.metrics.i3d import FEWEST, load_i3d, video_features
from world_model.metrics.inception import load_inception, picture_features
from world_model.metrics.weights import NETWORKS, find
from world_model.results import Metric

Features = NDArray[np.float64]
Videos = NDArray[np.uint8]


@dataclass(frozen=True)
class Distributions:
    """FID and FVD, a sentence for each that is missing, and the hashes of the networks behind them."""

    metrics: dict[str, Metric] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    networks: dict[str, str] = field(default_factory=dict)


def distribution_metrics(
    frames: Videos,
    truth: Videos,
    groups: NDArray[np.int64],
    *,
    fvd_windows: int = 0,
    download: bool = False,
    trust_torchscript: bool = False,
    stage: Callable[[str], None] = lambda name: None,
) -> Distributions:
    """FID over all frames and FVD over all windows ``(B, n, H, W, 3)``, as far as their networks are here.

    ``n`` counts samples. ``_floor`` is the same distance between every second episode's truth and the others': what
    so few samples give without any model (each side has half of them, so it is an upper bound). No interval: a
    bootstrap of a Frechet distance is biased.

    Args:
        fvd_windows: take FVD of so many windows, evenly spread; 0 for all.

    Raises:
        DataError: weights that are found are not the published ones.
    """

    length = truth.shape[1]

    def pictures(path: Path) -> Callable[[Videos], Features]:
        network = load_inception(path)
        return lambda videos: picture_features(network, videos.reshape(-1, *videos.shape[2:]))

    def videos(path: Path) -> Callable[[Videos], Features]:
        network = load_i3d(path, trust_torchscript)
        return lambda videos: video_features(network, videos)

    found = Distributions()
    rows = {"fid": np.arange(len(truth)), "fvd": _spread(len(truth), fvd_windows)}
    for name, (load, samples_each, unbiased) in {"fid": (pictures, length, True), "fvd": (videos, 1, False)}.items():
        path, samples = find(name, download=download), groups[rows[name]].repeat(samples_each)
        if path is None:
            found.missing[name] = NETWORKS[name].missing
        elif name == "fvd" and length < FEWEST:
            found.missing[name] = f"FVD is left out: its network takes {FEWEST} frames and more, not {length}"
        elif len(samples) < 2:
            found.missing[name] = f"{NETWORKS[name].title} is left out: one sample has no distribution"
        else:
            stage(f"features for {NETWORKS[name].title}")
            features = load(path)
            found.networks[name] = sha256(path)[:16]
            true, made = features(truth[rows[name]]), features(frames[rows[name]])
            found.metrics[name] = Metric(frechet_distance(made, true, unbiased=unbiased), n=len(samples))
            floor = halves_distance(true, samples, unbiased=unbiased)
            if floor is not None:
                found.metrics[f"{name}_floor"] = Metric(floor, n=len(samples))
    return found


def _spread(count: int, wanted: int) -> NDArray[np.intp]:
    """``wanted`` of ``count`` places, evenly spread; all for 0 or where there are no more."""
    if not 0 < wanted < count:
        return np.arange(count)
    return np.linspace(0, count - 1, wanted).round().astype(np.intp)
