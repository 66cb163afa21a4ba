"""What the pages of a comparison have in common."""

from __future__ import annotations

import html
from collections.abc import Sequence

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;margin:2em auto;max-width:76em;padding:0 1em;color:#222}
table{border-collapse:collapse;font-size:13px;margin:.5em 0}
td,th{border:1px solid #ccc;padding:2px 7px;text-align:right}
td:first-child,th:first-child,.wide td:nth-child(2),.wide td:nth-child(3){text-align:left}
th{background:#f2f2f2}
figure{display:inline-block;margin:6px 12px 6px 0;vertical-align:top}
figcaption{font-size:12px;max-width:272px;overflow-wrap:anywhere}
details{margin:.6em 0}
summary{cursor:pointer;font-weight:600}
.wide{overflow-x:auto}
"""


def table(heading: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table of texts."""
    head = "".join(f"<th>{html.escape(str(cell))}</th>" for cell in heading)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(c))}</td>" for c in line) + "</tr>" for line in rows)
    return f"<table><tr>{head}</tr>{body}</table>"
