"""How many episodes it takes to know a success rate, and to tell two policies apart."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Config:
    """Options of ``simforcing compare episodes``."""

    rates: tuple[float, float] = (0.6, 0.8)
    """Success rates of two policies."""
    agreement: float | None = None
    """Share of starts at which both end alike, if they run from the same starts; without it starts are independent."""
    within: float = 0.05
    """Half width of the 95 % interval of the first rate."""
    power: float = 0.8
    """Probability with which the difference is to be seen."""
    alpha: float = 0.05
    """Probability of seeing one that is not there."""


def run(config: Config) -> None:
    """Print the numbers."""
    from world_model.metrics.decisions import episodes_for_difference, episodes_for_rate

    first, second = config.rates
    rate = episodes_for_rate(config.within, first)
    apart = episodes_for_difference(first, second, config.alpha, config.power)
    print(f"{rate} episodes: a rate of {first:g} to within {config.within:g} (95 %)")
    print(f"{apart} episodes of each policy: {first:g} from {second:g}, independent starts, power {config.power:g}")
    if config.agreement is not None:
        paired = episodes_for_difference(first, second, config.alpha, config.power, config.agreement)
        print(f"{paired} starts: the same from starts in common of which {config.agreement:g} end alike (McNemar)")
