"""The false positives of a comparison on one web page: successes that happened in imagination alone."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from simforcing_env.evaluation.comparison.markup import STYLE, table
from simforcing_env.evaluation.comparison.outcome import Outcome
from simforcing_env.evaluation.comparison.playing import Trace
from simforcing_env.evaluation.comparison.protocol import Protocol
from simforcing_env.evaluation.comparison.scores import Scores, success
from simforcing_env.evaluation.pictures import framed
from simforcing_env.pictures import Picture, caption, column, row
from simforcing_env.policies.policy import Policy
from world_model.atomic import replace_text, replacing_file

MOST = 60  # pictures of a page


@dataclass(frozen=True)
class Witness:
    """Keeps a picture of each false positive: where imagination saw success, and what was true then and at the end."""

    folder: Path

    def watch(self, policy: Policy, outcomes: list[Outcome], traces: dict[str, list[Trace]]) -> None:
        """Picture what a batch has that is not pictured yet."""
        from PIL import Image

        if "true" not in traces:
            return
        sides = {side: [o for o in outcomes if o.side == side] for side in ("true", "learned")}
        for index, (true, learned) in enumerate(zip(sides["true"], sides["learned"], strict=True)):
            path = self.path(learned)
            if learned.success and not true.success and not path.exists():
                shown = Image.fromarray(_still(traces["learned"][index], traces["true"][index]))
                with replacing_file(path) as temporary:
                    shown.save(temporary, "WEBP", quality=70, method=4)

    def path(self, outcome: Outcome) -> Path:
        """Of an episode's picture."""
        return self.folder / f"{outcome.policy_hash}-{outcome.start.replace('/', '-')}.webp"


def _still(learned: Trace, true: Trace) -> Picture:
    at = learned.frame[-1]
    then = int(np.argmin(np.abs(np.array(true.frame) - at)))
    shown = (
        (f"imagined: success, frame {at}", learned.images[-1]),
        (f"true: frame {true.frame[then]}", true.images[then]),
        (f"true: the end, frame {true.frame[-1]}", true.images[-1]),
    )
    pictures = [(said, framed(image)) for said, image in shown]
    return row([column([caption(said, picture.shape[1]), picture]) for said, picture in pictures], 4)


def write_audit(path: Path, protocol: Protocol, scores: Scores, words: Sequence[str]) -> int:
    """Write ``media/<name>-audit.html`` beside the results ``path``; returns the number of false positives."""
    wrong = success(scores.learned) & ~success(scores.true)
    title = f"Successes in imagination alone: {protocol.env}"
    parts = [f"<!doctype html><html lang=en><meta charset=utf-8><title>{html.escape(title)}</title>"]
    parts += [f"<style>{STYLE}</style><h1>{html.escape(title)}</h1>"]
    failures = int((~success(scores.true)).sum())
    parts += [f"<p>{int(wrong.sum())} of {failures} episodes that fail in truth succeed in imagination.</p>"]
    rows = []
    for task in sorted(set(scores.tasks.tolist())):
        own = wrong[:, scores.tasks == task]
        said = words[task] if task < len(words) else ""
        rows.append([task, said, int(own.sum()), own.size])
    parts += [table(["task", "in words", "false positives", "episodes"], rows)]
    witness = Witness(path.with_suffix(".audit"))
    lines: list[list[object]] = []
    stills: list[str] = []
    for i, j in np.argwhere(wrong):
        learned, true = scores.learned[i][j], scores.true[i][j]
        line = [learned.policy, learned.start, learned.success_frame, true.frames, f"{learned.uncertainty_most:.3g}"]
        line += ["" if learned.outside is None else f"{learned.outside:.2f}"]
        line += ["" if learned.goal is None else "success" if learned.goal else "failure"]
        lines.append([*line, *("" if f is None else f for f in learned.parted.values())])
        if witness.path(learned).exists() and len(stills) < MOST:
            source = base64.b64encode(witness.path(learned).read_bytes()).decode()
            said = html.escape(f"{learned.policy}, {learned.start}")
            stills.append(f"<figure><img src='data:image/webp;base64,{source}' alt=''><figcaption>{said}</figcaption>")
            stills.append("</figure>")
    measures = [f"parted by {name}" for name in scores.learned[0][0].parted]
    heading = ["policy", "start", "success at frame", "true frames", "most doubt", "outside", "by goal images"]
    parts += [f"<div class=wide>{table([*heading, *measures], lines)}</div>", *stills]
    replace_text(path.parent / "media" / f"{path.stem}-audit.html", "\n".join(parts) + "\n</html>\n")
    return int(wrong.sum())
