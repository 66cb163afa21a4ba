"""What a check found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "note", "warning", "fault"]


@dataclass(frozen=True)
class Finding:
    """The outcome of one check: ``text`` says what was seen, ``mend`` what to do about it.

    A note is something that could not be checked or that is optional; only a fault makes the doctor fail.
    """

    check: str
    status: Status
    text: str
    mend: str = ""


def faults(findings: Iterable[Finding]) -> list[str]:
    """Names of the checks that found a fault."""
    return [finding.check for finding in findings if finding.status == "fault"]


def report(title: str, findings: list[Finding]) -> str:
    """Findings as lines for a terminal."""
    width = max((len(finding.check) for finding in findings), default=0)
    lines = [title]
    for finding in findings:
        lines.append(f"  {finding.status:<7}  {finding.check:<{width}}  {finding.text}")
        if finding.mend:
            lines.append(f"  {'':<7}  {'':<{width}}  -> {finding.mend}")
    return "\n".join(lines)
