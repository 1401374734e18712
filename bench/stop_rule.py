# SPDX-License-Identifier: Apache-2.0
"""When interleaved measurements have seen enough: the rule of src/timing, for several at once."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StopRule:
    """Settled: half of the median's 95 % interval is under `half_width` of the median, and the
    medians of the first and second half of the samples agree within twice that."""

    half_width: float = 0.01
    least_rounds: int = 11
    most_rounds: int = 400
    most_seconds: float = 0.5  # of the clock on the wall, for all contenders together

    def done(self, rounds, elapsed, settled):
        """`settled` is called only where its answer matters."""
        if rounds >= self.most_rounds:
            return True
        if elapsed >= self.most_seconds and rounds >= 3:
            return True
        # Sorting all samples anew after each of many rounds would be felt.
        look = rounds < 32 or rounds % 8 == 0
        return rounds >= self.least_rounds and look and settled()

    def settled(self, seconds, summarize):
        """Whether one contender's samples are. `summarize` gives median, low and high."""
        if len(seconds) < self.least_rounds:
            return False
        whole = summarize(seconds)
        if (whole.high - whole.low) / 2 > self.half_width * whole.median:
            return False
        half = len(seconds) // 2
        first, second = summarize(seconds[:half]), summarize(seconds[half:])
        return abs(first.median - second.median) <= 2 * self.half_width * whole.median
