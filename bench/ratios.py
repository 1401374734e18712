# SPDX-License-Identifier: Apache-2.0
"""Ratios of comparison rows put together: the best peer of a shape, geometric means over shapes."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Ratio:
    """Peer's time / ours with its 95 % interval, as a comparison row holds it."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, row):
        return cls(row["ratio"], row["ratio_low"], row["ratio_high"])


def best_peer(rows):
    """Of the comparison rows of one shape, by peer: the name whose device time is least, or None.
    The row of a peer without a passing gate does not exist, so that none can win by being wrong."""
    return min(rows, key=lambda name: rows[name]["peer"]["seconds_median"], default=None)


def geometric_mean(ratios):
    """The geometric mean of ratios. Its interval takes their errors as independent of each other:
    in logarithms the half-widths add as squares, each side for itself."""
    count = len(ratios)
    if count == 0:
        raise ValueError("no ratios: a mean of nothing does not exist")
    mean = sum(math.log(r.value) for r in ratios) / count
    below = math.sqrt(sum(math.log(r.value / r.low) ** 2 for r in ratios)) / count
    above = math.sqrt(sum(math.log(r.high / r.value) ** 2 for r in ratios)) / count
    return Ratio(math.exp(mean), math.exp(mean - below), math.exp(mean + above))


def grouped(ratios):
    """[(name, Ratio)] of all and of each group, in order of appearance. `ratios`: [(group, Ratio)].
    One group alone is not said twice."""
    groups = {}
    for group, ratio in ratios:
        groups.setdefault(group, []).append(ratio)
    means = [(name, len(members), geometric_mean(members)) for name, members in groups.items()]
    if len(means) == 1:
        return means
    everything = [ratio for _, ratio in ratios]
    return [("all", len(everything), geometric_mean(everything))] + means if means else []
