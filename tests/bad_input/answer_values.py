# SPDX-License-Identifier: Apache-2.0
"""What the numbers of an answer obey, however odd the question was: times are finite and above 0, none is
below the bound of its row, and a share of the bound lies between 0 and 100 %."""

from __future__ import annotations

import math
import re
from typing import Any

from answer_rules import require

ROUNDING = 1e-9
#: A number that is none, or a time of nothing or less, where a table writes a quantity.
NO_QUANTITY = re.compile(r"-?\b(?:nan|inf)\s?(?:[mµnp]?s|%|×|[kMGTPE]?(?:B|FLOP)(?:/s)?)(?!\w)"
                         r"|(?<![\w.,;=])-\d[\d.]* [mµnp]?s(?!\w)|(?<![\w.,;=-])0(?:\.0+)? [mµnp]?s(?!\w)")


def check_time(seconds: Any, about: str, least: float = 0.0) -> None:
    """Finite and above 0, and not below a bound."""
    require(isinstance(seconds, (int, float)) and math.isfinite(seconds) and seconds > 0,
            f"{about} is {seconds!r}, and no time")
    require(seconds >= least * (1 - ROUNDING), f"{about} is {seconds!r}, and the bound of its row {least!r}")


def check_row(row: Any, about: str) -> None:
    """A row of a prediction, a bound or a measurement, or a point: other rows have no times."""
    if not isinstance(row, dict):
        return
    bound = row.get("bound")
    least = 0.0
    if isinstance(bound, dict) and bound["seconds"] == 0 and bound.get("rates") == "":
        # A call of nothing but a launch, whose time no rate of this device tells.
        require(bound["limiter"] == "launch" and bound["memory_seconds"] == bound["compute_seconds"] == 0,
                f"{about}: a bound of 0 for a call that has work")
        require((row.get("prediction") or {}).get("seconds", 0) == 0, f"{about}: a time, but no bound")
        return
    if isinstance(bound, dict):
        least = bound["seconds"]
        check_time(least, f"{about}: bound")
        check_time(least, f"{about}: bound", max(bound[f"{part}_seconds"] for part in ("memory", "compute", "launch")))
    prediction = row.get("prediction")
    if isinstance(prediction, dict):
        for name in ("seconds", "expected_seconds", "uncalibrated_seconds"):
            check_time(prediction[name], f"{about}: {name}", least)
        for end in prediction["band"] or []:
            check_time(end, f"{about}: an end of the band")
        for layer in ("layer1", "layer2"):
            for term, seconds in prediction[layer].items():
                require(math.isfinite(seconds) and seconds >= 0, f"{about}: {layer} {term} is {seconds!r}")
    measurement = row.get("measurement")
    if isinstance(measurement, dict):
        for name in ("seconds_median", "seconds_low", "seconds_high"):
            check_time(measurement[name], f"{about}: {name}")
    if "bound_seconds" in row:
        check_time(row["bound_seconds"], f"{about}: bound_seconds", max(row["compute_seconds"], row["memory_seconds"]))
        for name in ("of_roof", "gain_of_tenth"):
            value = row.get(name, 0.0)
            require(value is not None and math.isfinite(value) and value >= 0, f"{about}: {name} is {value!r}")


def check_tables(text: str, about: str) -> None:
    """Quantities of tables and sentences, and the column `of bound`."""
    found = NO_QUANTITY.search(text)
    require(found is None, f"{about}: prints {found and found.group()!r}")
    end = -1
    for line in text.splitlines():
        if "of bound" in line:
            end = line.index("of bound") + len("of bound")
        elif not line.strip():
            end = -1
        elif end >= 0:
            share = re.search(r"(-?\S+) %$", line[:end])
            require(share is None or 0 <= float(share[1]) <= 100, f"{about}: {share and share[1]} % of the bound")
