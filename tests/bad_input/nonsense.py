# SPDX-License-Identifier: Apache-2.0
"""Numbers, units and names that no machine has, where `raceline point` and `--rates` take them: each must
be refused with one sentence."""

from __future__ import annotations

import json
import pathlib
from typing import Any

from hypothesis import strategies as st

CEILINGS = pathlib.Path(__file__).parents[2] / "receipts/h200/ceilings.jsonl"
#: As JSON writes them, or as something that is no JSON.
NO_RATES = ["-1", "0", "-0.0", "NaN", "Infinity", "-Infinity", "1e400", "1e300", "1e-300", "5e-324", "null",
            "true", '"fast"', "[]", ""]
NO_UNITS = ['"furlong"', '"GB/s"', '"W"', '""', "null", "1"]
NO_RESOURCES = ['"byte.foo"', '"byte.dram_raed"', '"flop.fma.fp31"', '"flop"', '"dram"', '"energy.luck"', '""', "7"]
NO_AMOUNTS = ["-1", "nan", "inf", "-inf", "1e400", "1e300", "5e-324", "1e-31", "-5e-324", "1e9x", "1 TB", "1,5",
              "½"]
NO_ENGINES = ["dram", "bf99", "flop.foo", "furlong", "flop.dot.bf16"]
NO_MEMORIES = ["l9", "byte.foo", "flop.fma.fp32", "furlong"]
POINT = {"flops": "1e9", "bytes": "1e9", "seconds": "1e-3", "engine": "fma.fp32", "memory": "dram"}


@st.composite
def rates(draw: st.DrawFn) -> bytes:
    """Two ceilings of a device, of which the second has one member replaced."""
    lines = CEILINGS.read_text().splitlines()
    at = draw(st.integers(0, len(lines) - 1))
    row: dict[str, Any] = json.loads(lines[at])
    member, value = draw(
        st.one_of(st.sampled_from(NO_RATES).map(lambda text: ("value", text)),
                  st.sampled_from(NO_UNITS).map(lambda text: ("unit", text)),
                  st.sampled_from(NO_RESOURCES).map(lambda text: ("resource", text)),
                  st.sampled_from(["clock_hz", "power_w", "limit"]).map(lambda name: (name, "-1"))))
    row["ceiling"][member] = "\0"
    return "\n".join([lines[0], json.dumps(row).replace(json.dumps("\0"), value), ""]).encode()


@st.composite
def commands(draw: st.DrawFn) -> tuple[list[str], bytes]:
    """Words, and what the file `broken` holds."""
    if draw(st.booleans()):
        command = draw(st.sampled_from([["devices"], ["point", "--bytes", "1e9"],
                                        ["predict", "--kernel", "simt", "--shape", "h=1,k=64,d=64"]]))
        return [*command, "--device", "h200", "--rates", "broken"], draw(rates())
    name, value = draw(
        st.one_of(st.tuples(st.sampled_from(["flops", "bytes", "seconds"]), st.sampled_from(NO_AMOUNTS)),
                  st.tuples(st.just("seconds"), st.sampled_from(["0", "0.0", "1e-400"])),
                  st.tuples(st.just("engine"), st.sampled_from(NO_ENGINES)),
                  st.tuples(st.just("memory"), st.sampled_from(NO_MEMORIES))))
    point = {**POINT, name: value}
    if draw(st.booleans()):
        cells = ",".join(f'"{cell}"' for cell in point.values())
        return ["point", "--device", "h200", "broken"], (",".join(point) + "\n" + cells + "\n").encode()
    return ["point", "--device", "h200", *(f"--{one}={cell}" for one, cell in point.items())], b""
