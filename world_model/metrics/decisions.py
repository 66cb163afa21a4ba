"""Is policy B better than A: tests of pairs, a test that may stop at any moment, and how many episodes it takes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from world_model.errors import InputError


def mcnemar(a: ArrayLike, b: ArrayLike) -> float:
    """Exact two-sided p-value that two policies are alike, from their outcomes (0 or 1) at the same starts.

    Only starts at which one succeeds and the other fails count; without any it is 1.
    """
    from scipy.stats import binomtest

    x, y = _outcomes(a, b)
    only_a, only_b = int((x & ~y).sum()), int((~x & y).sum())
    return float(binomtest(only_a, only_a + only_b).pvalue) if only_a + only_b else 1.0


class Stopped(NamedTuple):
    """What a sequential test says."""

    evidence: float  # the largest bet's worth so far: 1 at the start, 1 / alpha proves it
    at: int | None  # episodes after which it was proved, None if never


def evidence_of_wins(wins: int, losses: int) -> float:
    """Worth of a fair bet that B wins more than half of the decided starts, after some.

    The stake is spread evenly over every chance of winning above 1/2. If B is no better, the worth ever reaches
    1 / alpha with a probability of at most alpha, however often one looks.
    """
    from scipy.special import betainc, betaln

    above = 1.0 - float(betainc(wins + 1, losses + 1, 0.5))
    if above <= 0.0:
        return 0.0
    power = (wins + losses + 1) * math.log(2) + float(betaln(wins + 1, losses + 1)) + math.log(above)
    return math.exp(min(power, 700.0))


def sequential(a: ArrayLike, b: ArrayLike, alpha: float = 0.05) -> Stopped:
    """Does B beat A, looking after every episode: stops as soon as the `evidence_of_wins` reaches 1 / alpha.

    Args:
        a: ``(n,)`` outcomes of A, in the order in which starts are run.
        b: those of B at the same starts.
    """
    x, y = _outcomes(a, b)
    wins = losses = 0
    best = 1.0
    for episode, (first, second) in enumerate(zip(x, y, strict=True), 1):
        wins, losses = wins + int(second and not first), losses + int(first and not second)
        best = max(best, evidence_of_wins(wins, losses))
        if best >= 1 / alpha:
            return Stopped(best, episode)
    return Stopped(best, None)


def episodes_for_rate(half_width: float, rate: float = 0.5, confidence: float = 0.95) -> int:
    """Episodes after which a success rate is known to within ``half_width``; 0.5 is the hardest rate.

    Raises:
        InputError: a number out of its range.
    """
    from scipy.stats import norm

    _inside(half_width=half_width, rate=rate, confidence=confidence)
    z = float(norm.ppf((1 + confidence) / 2))
    return math.ceil(z**2 * rate * (1 - rate) / half_width**2)


def episodes_for_difference(
    first: float, second: float, alpha: float = 0.05, power: float = 0.8, agreement: float | None = None
) -> int:
    """Episodes of each policy after which a difference of two success rates is seen with probability ``power``.

    Args:
        agreement: share of starts at which both policies end alike, where they run from the same starts (McNemar);
            None for independent starts.

    Raises:
        InputError: a number out of its range, equal rates, or an agreement that the rates do not allow.
    """
    from scipy.stats import norm

    _inside(first=first, second=second, alpha=alpha, power=power)
    difference = abs(first - second)
    if not difference:
        raise InputError(f"both rates are {first:g}, which no number of episodes tells apart; give two rates")
    a, b = float(norm.ppf(1 - alpha / 2)), float(norm.ppf(power))
    if agreement is None:
        mean = (first + second) / 2
        root = a * math.sqrt(2 * mean * (1 - mean)) + b * math.sqrt(first * (1 - first) + second * (1 - second))
        return math.ceil((root / difference) ** 2)
    apart = 1 - agreement
    if not difference - 1e-9 <= apart <= min(first + second, 2 - first - second) + 1e-9:
        raise InputError(
            f"agreement is {agreement:g}, but rates of {first:g} and {second:g} differ at a share of starts from "
            f"{difference:g} to {min(first + second, 2 - first - second):g}; correct it"
        )
    root = a * math.sqrt(apart) + b * math.sqrt(apart - difference**2)
    return math.ceil((root / difference) ** 2)


def _outcomes(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    x, y = np.asarray(a), np.asarray(b)
    if x.shape != y.shape or x.ndim != 1 or not np.isin(x, (0, 1)).all() or not np.isin(y, (0, 1)).all():
        raise InputError(f"outcomes {x.shape} and {y.shape} must be two rows of 0 and 1 from the same starts")
    return x.astype(np.bool_), y.astype(np.bool_)


def _inside(**numbers: float) -> None:
    for name, value in numbers.items():
        if not 0 < value < 1:
            raise InputError(f"{name} is {value:g} but must lie between 0 and 1; correct it")
