"""FID and FVD of generated windows, or what would be needed for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from world_model.metrics.frechet import frechet_distance, halves_distance
from world_model.metrics.i3d import FEWEST, load_i3d, video_features
from world_model.metrics.inception import load_inception, picture_features
from world_model.metrics.weights import NETWORKS, find
from world_model.results import Metric

Features = NDArray[np.float64]
Videos = NDArray[np.uint8]


def distribution_metrics(
    frames: Videos,
    truth: Videos,
    groups: NDArray[np.int64],
    download: bool = False,
    trust_torchscript: bool = False,
    stage: Callable[[str], None] = lambda name: None,
) -> tuple[dict[str, Metric], dict[str, str]]:
    """FID over all frames and FVD over all windows ``(B, n, H, W, 3)``, and a sentence for each that is missing.

    ``n`` counts samples. ``_floor`` is the same distance between every second episode's truth and the others': what
    so few samples give without any model (each side has half of them, so it is an upper bound). No interval: a
    bootstrap of a Frechet distance is biased.

    Raises:
        DataError: weights that are found are not the published ones.
    """

    def pictures(path: Path) -> Callable[[Videos], Features]:
        network = load_inception(path)
        return lambda videos: picture_features(network, videos.reshape(-1, *videos.shape[2:]))

    def videos(path: Path) -> Callable[[Videos], Features]:
        network = load_i3d(path, trust_torchscript)
        return lambda videos: video_features(network, videos)

    found: dict[str, Metric] = {}
    missing: dict[str, str] = {}
    kinds = {"fid": (pictures, groups.repeat(truth.shape[1]), True), "fvd": (videos, groups, False)}
    for name, (load, samples, unbiased) in kinds.items():
        path = find(name, download=download)
        if path is None:
            missing[name] = NETWORKS[name].missing
        elif name == "fvd" and truth.shape[1] < FEWEST:
            missing[name] = f"FVD is left out: its network takes {FEWEST} frames and more, not {truth.shape[1]}"
        elif len(samples) < 2:
            missing[name] = f"{NETWORKS[name].title} is left out: one sample has no distribution"
        else:
            stage(f"features for {NETWORKS[name].title}")
            features = load(path)
            true = features(truth)
            found[name] = Metric(frechet_distance(features(frames), true, unbiased=unbiased), n=len(samples))
            floor = halves_distance(true, samples, unbiased=unbiased)
            if floor is not None:
                found[f"{name}_floor"] = Metric(floor, n=len(samples))
    return found, missing
