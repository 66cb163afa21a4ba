"""One web page of results files and what stands beside them: all is inside, without network or script."""

from __future__ import annotations

import base64
import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from simforcing_env.commands.table_labels_by_file import label
from simforcing_env.commands.tables import show
from simforcing_env.evaluation.protocols import PROTOCOLS
from world_model.atomic import replace_text
from world_model.errors import InputError
from world_model.results import Metric, read_results

PUBLISHED = {
    "short": ("latent_l2", "psnr_grey", "ssim_grey", "fid", "fvd"),
    "long": ("latent_l2", "psnr"),
}
"""Metrics that the paper names, by protocol; all others are beyond it."""
_STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
h2{margin-top:3rem;border-bottom:1px solid #8886}
table{border-collapse:collapse;margin:.5rem 0 1.5rem;font-variant-numeric:tabular-nums}
caption{text-align:left;font-weight:600;padding:.3rem 0}
th,td{padding:.15rem .8rem .15rem 0;text-align:left;border-bottom:1px solid #8883}
td.n,th.n{text-align:right}
img{max-width:100%;background:#fff}
figure{margin:1rem 0}
figcaption,small,.facts{font-size:13px;opacity:.8}
video{max-width:100%;background:#fff}
.films{display:flex;flex-wrap:wrap;gap:0 1.5rem}
small{white-space:nowrap}
code{overflow-wrap:anywhere}
.missing{border-left:3px solid #c60;padding-left:.7rem}
"""


def write_report(out: Path, results: Sequence[Path], title: str) -> None:
    """Write the page of some results files of `evaluate short`, `evaluate long` and others, in their order.

    Raises:
        InputError: no results file.
        DataError: one is damaged.
    """
    if not results:
        raise InputError("a report needs results files; give at least one, written by a command's --json option")
    records = [(path, read_results(path)) for path in results]
    parts = ["<!doctype html>", "<html lang=en><meta charset=utf-8>"]
    parts += ["<meta name=viewport content='width=device-width,initial-scale=1'>"]
    parts += [f"<title>{_text(title)}</title><style>{_STYLE}</style><h1>{_text(title)}</h1>"]
    parts.append("<nav><ul>")
    parts += [f"<li><a href='#{_text(path.stem)}'>{_text(_heading(path, record))}</a>" for path, record in records]
    parts.append("</ul></nav>")
    for path, record in records:
        parts += _section(path, record)
    if any(_protocol(record) in PROTOCOLS for _, record in records):
        parts += ["<h2>What is beyond the paper</h2>", f"<p>{_text(PROTOCOLS['beyond'])}</p>"]
    replace_text(out, "\n".join(parts) + "\n")


def _protocol(record: Mapping[str, Any]) -> str:
    return str(record.get("notes", {}).get("protocol", ""))


def _heading(path: Path, record: Mapping[str, Any]) -> str:
    protocol = _protocol(record)
    return f"{path.stem}: {protocol} protocol" if protocol else path.stem


def _section(path: Path, record: Mapping[str, Any]) -> list[str]:
    notes, metrics = record.get("notes", {}), record["metrics"]
    parts = [f"<h2 id='{_text(path.stem)}'>{_text(_heading(path, record))}</h2>"]
    protocol = _protocol(record)
    if protocol in PROTOCOLS:
        parts.append(f"<p>{_text(PROTOCOLS[protocol])}</p>")
    parts.append(_facts(record, notes))
    parts += [f"<p class=missing>{_text(sentence)}</p>" for sentence in notes.get("missing", {}).values()]
    named = PUBLISHED.get(protocol, ())
    whole = {name: metric for name, metric in metrics.items() if not _at_frame(name)}
    parts.append(_table(path.stem, "Published metrics", {n: whole[n] for n in named if n in whole}))
    parts.append(
        _table(path.stem, "Beyond the paper" if named else "", {n: m for n, m in whole.items() if n not in named})
    )
    parts.append(_by_frame(path.stem, {name: metric for name, metric in metrics.items() if _at_frame(name)}))
    media = path.parent / "media"
    for name, said in (("-curves", "By generated frame; bands are 95 % intervals over episodes."), ("", "")):
        if (picture := media / f"{path.stem}{name}.png").is_file():
            alternative = f"{path.stem}{name or ', true and generated frames'}"
            parts.append(f"<figure><img src='{_data(picture, 'image/png')}' alt='{_text(alternative)}'>")
            parts.append(f"<figcaption>{_text(said)}</figcaption></figure>")
    parts.append("<div class=films>")
    for rank in notes.get("films", ()):
        if (film := media / f"{path.stem}-{rank}.mp4").is_file():
            source = _data(film, "video/mp4")
            parts.append(f"<figure><video controls autoplay loop muted playsinline src='{source}'></video>")
            parts.append(f"<figcaption>{_text(rank)} by PSNR: true, generated, difference x 4</figcaption></figure>")
    return [part for part in [*parts, "</div>"] if part]


def _facts(record: Mapping[str, Any], notes: Mapping[str, Any]) -> str:
    device, episodes = record["device"], notes.get("episodes", {})
    facts = {
        "command": record["command"],
        "measured": record["created"],
        "checkpoint": f"{notes.get('checkpoint', '')} {record['checkpoint']}".strip(),
        "contract": record["contract"],
        "episodes": f"{episodes.get('count')} ({episodes.get('from')}), hash {episodes.get('hash')}"
        if episodes
        else "",
        "networks": ", ".join(f"{name} {value}" for name, value in notes.get("networks", {}).items()),
        "settings": ", ".join(f"{name} {value}" for name, value in notes.get("settings", {}).items()),
        "device": ", ".join(f"{name} {value}" for name, value in device.items()),
        "sampler steps": record["sampler_steps"],
        "seeds": ", ".join(map(str, record["seeds"])),
    }
    lines = [f"{name}: <code>{_text(value)}</code>" for name, value in facts.items() if value not in (None, "")]
    return "<p class=facts>" + "<br>".join(lines) + "</p>"


def _at_frame(name: str) -> bool:
    return name.rpartition("_h")[2].isdigit()


def _table(file: str, title: str, metrics: Mapping[str, Metric]) -> str:
    if not metrics:
        return ""
    rows = [f"<table><caption>{_text(title)}</caption>", "<tr><th>metric<th>name<th class=n>value"]
    rows[-1] += "<th>unit<th class=n>95 % interval<th class=n>n"
    for name, metric in metrics.items():
        count = "" if metric.n is None else metric.n
        rows.append(
            f"<tr><td>{_text(label(file, name) or '')}<td><code>{_text(name)}</code><td class=n>{show(metric.value)}"
            f"<td>{_text(metric.unit)}<td class=n>{_interval(metric)}<td class=n>{count}"
        )
    return "\n".join([*rows, "</table>"])


def _by_frame(file: str, metrics: Mapping[str, Metric]) -> str:
    """Measures down, frames across."""
    places = sorted({int(name.rpartition("_h")[2]) for name in metrics})
    names = list(dict.fromkeys(name.rpartition("_h")[0] for name in metrics))
    if not places:
        return ""
    rows = ["<table><caption>At single frames</caption>", "<tr><th>metric"]
    rows[-1] += "".join(f"<th class=n>frame {k}" for k in places)
    for name in names:
        cells = [metrics.get(f"{name}_h{k}") for k in places]
        written = [f"{show(m.value)}<br><small>{_interval(m)}</small>" if m else "" for m in cells]
        unit = next((m.unit for m in cells if m and m.unit), "")
        title = (label(file, name) or name) + (f", {unit}" if unit else "")
        rows.append(f"<tr><td>{_text(title)}" + "".join(f"<td class=n>{cell}" for cell in written))
    return "\n".join([*rows, "</table>"])


def _interval(metric: Metric) -> str:
    return "" if metric.low is None or metric.high is None else f"{show(metric.low)} to {show(metric.high)}"


def _data(path: Path, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"


def _text(value: object) -> str:
    return html.escape(str(value), quote=True)
