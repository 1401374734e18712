# SPDX-License-Identifier: Apache-2.0
"""The tables of a comparison. Every number stands in a receipt row; here it is only arranged."""

from ratios import Ratio, best_peer, geometric_mean, grouped

WIDTH = 46  # of a shape's text


def interval(ratio):
    return f"{ratio.value:5.2f} [{ratio.low:.2f}, {ratio.high:.2f}]"


class Results:
    """What has been measured so far: rows of one shape come in together."""

    def __init__(self, labels):
        self.labels = labels
        self.shapes = []  # (problem, {label: row})

    def header(self):
        names = "".join(f"{label[:10]:>11}" for label in ["raceline"] + self.labels)
        return f"{'shape':{WIDTH}}{names}  unit     best: ratio [95 %]"

    def add(self, problem, rows):
        """Takes {label: comparison row} of one shape; returns its line of the table."""
        self.shapes.append((problem, rows))
        if not rows:
            return f"{problem.text:{WIDTH}} nothing to compare with"
        any_row = next(iter(rows.values()))
        cells = [any_row["measurement"]]
        cells += [rows[label]["peer"] if label in rows else None for label in self.labels]
        text = "".join(f"{self.rate(problem, c):>11}" for c in cells)
        best = best_peer(rows)
        unit = "TB/s" if problem.moves_bytes else "TFLOP/s"
        return (f"{problem.text:{WIDTH}}{text}  {unit:8} {best}: "
                f"{interval(Ratio.of(rows[best]))}")

    @staticmethod
    def rate(problem, side):
        if side is None:
            return "-"
        rate = problem.rate(side["seconds_median"])
        return f"{rate:.1f}" if rate >= 10 else f"{rate:.4g}"

    def call_lines(self):
        """Call time: what a host pays for one call and the wait for it, µs; error beside it."""
        yield f"{'call time in µs, relative RMS error':{WIDTH}}" + "".join(
            f"{label[:16]:>18}" for label in ["raceline"] + self.labels)
        for problem, rows in self.shapes:
            if not rows:
                continue
            any_row = next(iter(rows.values()))
            cells = [(any_row["measurement"], any_row["correctness"])]
            cells += [(rows[label]["peer"], rows[label]["peer"]["correctness"])
                      if label in rows else None for label in self.labels]
            text = "".join(
                f"{'-':>18}" if cell is None else
                f"{cell[0]['seconds_call'] * 1e6:>9.1f} {cell[1]['relative_rms']:.2e}"
                for cell in cells)
            yield f"{problem.text:{WIDTH}}{text}"

    def mean_lines(self):
        """Geometric means: against each peer and against the best peer of each shape."""
        sides = [(label, [(p, rows[label]) for p, rows in self.shapes if label in rows])
                 for label in self.labels]
        best = [(p, rows[best_peer(rows)]) for p, rows in self.shapes if rows]
        if len(self.labels) > 1:
            sides.append(("the best of them", best))
        for label, rows in sides:
            if not rows:
                yield f"{label}: no shape compared"
                continue
            for name, count, mean in grouped([(p.regime(), Ratio.of(row)) for p, row in rows]):
                yield (f"{label}'s time / raceline's, {name}: geometric mean {interval(mean)}, "
                       f"{count} shape{'s' if count > 1 else ''}")
            least = min(rows, key=lambda pair: pair[1]["ratio"])
            yield f"  least: {interval(Ratio.of(least[1]))} at {least[0].text}"
            if label in self.labels:
                yield self.error_line(label, rows)

    @staticmethod
    def error_line(label, rows):
        """Our relative RMS error over a peer's: what speed has cost, or not."""
        errors = [(row["correctness"]["relative_rms"], row["peer"]["correctness"]["relative_rms"],
                   problem.text) for problem, row in rows]
        ratios = [(ours / theirs, text) for ours, theirs, text in errors if ours > 0 < theirs]
        if not ratios:  # one key, say: both are exact
            return f"  raceline's error / {label}'s: no shape on which both have one"
        mean = geometric_mean([Ratio(ratio, ratio, ratio) for ratio, _ in ratios]).value
        most, where = max(ratios)
        return (f"  raceline's error / {label}'s: geometric mean {mean:.3f}, most {most:.3f} "
                f"at {where}")

    def overall(self):
        """Ratio against the best peer of each shape, over all shapes; None without any."""
        ratios = [Ratio.of(rows[best_peer(rows)]) for _, rows in self.shapes if rows]
        return geometric_mean(ratios) if ratios else None
