# SPDX-License-Identifier: Apache-2.0
"""Places your own program on the roofline of a device."""

from __future__ import annotations

import json

from . import _core
from ._table import Shown, kind_of, percent, plain, seconds, si


class Point(Shown):
    """What limits a program, how close it is to that limit, and what would help. Times are seconds.

    Attributes:
        intensity: operations per byte; 0 if there are no bytes.
        ridge: the intensity at which operations and bytes take equally long.
        bound: the longer of `compute` and `memory`: no program does this work faster.
        compute, memory: time for the operations at the engine's rate, for the bytes at the memory's.
        limiter: the id of the rate that gives the bound.
        engine, memory_level: ids of the two rates; "" if there is no such work.
        seconds: what was measured, or None.
        of_roof: bound / measured time, or None. Over 1, a count or the memory level is wrong, or a
            cache served bytes.
        standing: "at the roof", "limited by it" (three fifths of it or more), "waits" (less: for
            latency, launches or too few CTAs, or for work that was not counted), "beyond the
            roof", "not measured".
        gain_of_tenth: the factor by which the bound falls if the limiting rate rises by a tenth.
        device, device_name, rates: the device, and the source of the limiting rate.
    """

    __slots__ = ("intensity", "ridge", "bound", "compute", "memory", "limiter", "engine",
                 "memory_level", "seconds", "of_roof", "standing", "gain_of_tenth", "device",
                 "device_name", "rates", "_flops", "_bytes")

    def __init__(self, text: str):
        found = json.loads(text)
        self.intensity: float = found["arithmetic_intensity"]
        self.ridge: float = found["ridge"]
        self.bound: float = found["bound_seconds"]
        self.compute: float = found["compute_seconds"]
        self.memory: float = found["memory_seconds"]
        self.limiter: str = found["limiter"]
        self.engine: str = found["engine"]
        self.memory_level: str = found["memory"]
        self.seconds: float | None = found["seconds"] or None
        self.of_roof: float | None = found["of_roof"] or None
        self.standing: str = found["standing"]
        self.gain_of_tenth: float = found["gain_of_tenth"]
        self.device: str = found["device"]["id"]
        self.device_name: str = found["device"]["name"]
        self.rates: str = found["rates"]
        self._flops: float = found["flops"]
        self._bytes: float = found["bytes"]

    _HEAD = ("", "")

    def _rows(self) -> list[list[str]]:
        rows = [["limiter", f"{self.limiter} (rate: {self.rates})"],
                ["intensity, ridge", f"{plain(self.intensity)}, {plain(self.ridge)} FLOP/B"],
                ["bound", seconds(self.bound)]]
        if self.seconds and self.of_roof:
            done = [si(amount / self.seconds, unit)
                    for amount, unit in ((self._flops, "flop/s"), (self._bytes, "B/s")) if amount]
            rows += [["measured", f"{seconds(self.seconds)}, {percent(self.of_roof)} of the roof: {self.standing}"],
                     ["achieved", ", ".join(done)]]
        return [*rows, [f"+10 % {self.limiter}", f"bound divided by {self.gain_of_tenth:.3g}"]]

    def __repr__(self) -> str:
        measured = (f", {percent(self.of_roof)} of the roof in {seconds(self.seconds)}"
                    if self.seconds and self.of_roof else "")
        return (f"<Point intensity {plain(self.intensity)} FLOP/B, bound {seconds(self.bound)}, "
                f"limiter {self.limiter}{measured}, {self.standing}, device {self.device}>")

    def _title(self) -> str:
        return f"on {self.device_name}"


def point(
    flops: float = 0.0,
    bytes: float = 0.0,
    seconds: float | None = None,
    *,
    engine: str | None = None,
    memory: str = "dram",
    device: str | None = None,
) -> Point:
    """Places a program on the roofline of a device.

    Args:
        flops: its operations; a multiply-add counts as two.
        bytes: what it reads and writes at `memory`.
        seconds: what it took; None: not measured.
        engine: what the operations run on: a rate of the device ("wgmma.bf16", "fma.fp32",
            "op.ex2"), or a type ("bf16"), for its fastest engine. None if there are no operations.
        memory: where the bytes are counted: "dram" (at the read ceiling), "dram_copy", "l2",
            "smem_lsu", "llc", ...
        device: an id of `devices()`; None: this machine (its GPU if it has one).

    Raises:
        TypeError: an argument has another type.
        ValueError: an amount is negative or not a number, operations have no engine, or the device
            has no rate for an engine or a memory; the message names the nearest one.

    Examples:
        >>> raceline.point(2 * 4096**3, 3 * 2 * 4096**2, 250e-6, engine="bf16", device="h200")
    """
    return Point(_core.judged_point(_number("flops", flops), _number("bytes", bytes),
                                    0.0 if seconds is None else _measured(seconds),
                                    _text("engine", engine or ""), _text("memory", memory),
                                    _text("device", device or "")))


def _number(name: str, value: float) -> float:
    if isinstance(value, bool) or not hasattr(value, "__float__") or isinstance(value, str):
        raise TypeError(f"{name} is {kind_of(value)}; it must be a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is beyond what a float holds") from None


def _measured(value: float) -> float:
    number = _number("seconds", value)
    if number == 0:
        raise ValueError("seconds is 0; it must be more, or None where nothing was measured")
    return number


def _text(name: str, value: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} is {kind_of(value)}; it must be a str")
    return value
