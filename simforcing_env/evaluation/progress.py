"""Progress lines with the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_BUDGET = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"


@contextmanager
def counting(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A bar over ``total`` items; call what it yields with the number that is done."""
    from tqdm import tqdm

    with tqdm(total=total, desc=title) as bar:
        yield lambda done: _to(bar, done)


@contextmanager
def spending(title: str) -> Iterator[Callable[[float, float], None]]:
    """A bar over a budget; call what it yields with the part that is gone and a loss, as often as you like."""
    from tqdm import tqdm

    with tqdm(total=1000, desc=title, bar_format=_BUDGET) as bar:
        shown = [0.0]

        def report(part: float, loss: float) -> None:
            if part >= 1 or time.monotonic() - shown[0] > 0.5:
                shown[0] = time.monotonic()
                bar.set_postfix_str(f"loss {loss:.4f}", refresh=False)
                _to(bar, int(1000 * part))

        yield report


def _to(bar: object, done: int) -> None:
    bar.update(done - bar.n)  # type: ignore[attr-defined]
