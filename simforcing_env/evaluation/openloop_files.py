"""Tables and pictures of an open-loop check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from simforcing_env.evaluation.openloop import Replay
from simforcing_env.evaluation.pictures import compared
from simforcing_env.evaluation.tables import write_csv
from simforcing_env.pictures import Picture, column, write_png
from world_model.data.episode import Episode
from world_model.metrics.agreement import cohen_kappa

SHOWN = 5  # frames of each episode in the page
LABEL = 190  # px


def write_openloop_files(json: Path, replays: Sequence[Replay], episodes: Sequence[Episode], threshold: float) -> None:
    """``<name>-tasks.csv``, ``<name>-episodes.csv`` and ``media/<name>-mistakes.png`` beside ``json``."""
    truth = np.array([r.truth.max() > 0.5 for r in replays])
    guess = np.array([r.generated.max() > threshold for r in replays])
    tasks = np.array([r.task for r in replays])
    rows: list[list[object]] = []
    for task in np.unique(tasks):
        own = tasks == task
        kappa = cohen_kappa(truth[own], guess[own])
        counts = [int(which[own].sum()) for which in (own, truth, guess, truth == guess)]
        rows.append([task, *counts, "" if kappa is None else f"{kappa:.3f}"])
    heading = ["task", "episodes", "succeed_true", "succeed_learned", "agree", "kappa"]
    write_csv(json.with_name(f"{json.stem}-tasks.csv"), heading, rows)
    listed: list[list[object]] = [
        [r.start, r.behaviour, len(r.truth), int(t), int(g), f"{r.generated.max():.3f}", f"{r.on_truth.max():.3f}"]
        for r, t, g in zip(replays, truth, guess, strict=True)
    ]
    heading = ["start", "behaviour", "frames", "true", "learned", "most_probable", "most_probable_true_frames"]
    write_csv(json.with_name(f"{json.stem}-episodes.csv"), heading, listed)
    wrong = np.flatnonzero(truth != guess)
    chosen = wrong[:12] if len(wrong) else np.arange(min(4, len(replays)))
    sheet = page([(replays[i], episodes[i]) for i in chosen])
    write_png(json.parent / "media" / f"{json.stem}-mistakes.png", sheet, widest=900)


def page(pairs: Sequence[tuple[Replay, Episode]]) -> Picture:
    """Each episode's true frames above the generated ones, from its beginning to its end."""
    rows = []
    for replay, episode in pairs:
        shown = np.unique(np.linspace(0, len(replay.truth) - 1, SHOWN).round().astype(int))
        true, made = ([frames[k] for k in shown] for frames in (episode.frames[1:], replay.frames))
        end = f"true: {'success' if replay.truth.max() > 0.5 else 'failure'}"
        said = ["true", replay.start, replay.behaviour, end]
        judged = ["generated", f"success {replay.generated.max():.2f} at most"]
        rows.append(compared(true, made, said, judged, scale=1, label=LABEL))
    return column(rows)
