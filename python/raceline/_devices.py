# SPDX-License-Identifier: Apache-2.0
"""Devices that raceline knows, and the measured ceilings of this one."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from typing import Callable

from . import _core
from ._table import html_table, kind_of, percent, si, text_table


@dataclass(frozen=True)
class Device:
    """A CPU or GPU. Rates are per second (or seconds, for floors and latencies), by resource."""

    id: str
    name: str
    live: bool  #: on this machine
    year: int  #: of release; 0: unknown
    units: int  #: SMs, or cores this process may use
    clock_hz: float
    memory_bytes: int
    l2_bytes: int
    llc_bytes: int
    rates_id: str
    rates: dict[str, float] = field(repr=False)
    sources: dict[str, str] = field(repr=False)  #: where each rate comes from

    def _row(self) -> list[str]:
        dram = self.rates.get("byte.dram_read")
        return [self.id, "live" if self.live else "", self.name, str(self.units),
                si(self.clock_hz, "Hz"), si(dram, "B/s") if dram else ""]


_DEVICE_HEAD = ["device", "", "name", "units", "clock", "DRAM read"]


class Devices(list[Device]):
    """A list of Device that prints as a table."""

    def __str__(self) -> str:
        return text_table(_DEVICE_HEAD, [device._row() for device in self])

    def _repr_html_(self) -> str:
        return html_table(_DEVICE_HEAD, [device._row() for device in self])


def devices() -> Devices:
    """Every device that raceline can predict for; this machine's come first.

    A device's `id` is what `predict(device=...)` takes. Rates are the best known ones: for this
    machine the results of `measure`, if it was run.
    """
    found = Devices()
    for one in json.loads(_core.devices()):
        rates = one.pop("rates")
        found.append(
            Device(
                **one,
                rates={resource: rate["value"] for resource, rate in rates.items()},
                sources={resource: rate["source"] for resource, rate in rates.items()},
            )
        )
    return found


def _words() -> list[str]:
    """This program's command line; bytes that are not text are written as escapes."""
    return [str(word).encode("utf-8", "backslashreplace").decode()
            for word in getattr(sys, "argv", [])]


@dataclass(frozen=True)
class Ceiling:
    """The highest measured rate of one resource."""

    resource: str
    value: float
    unit: str
    limit: float  #: what the clock allows, in the same unit; 0: no such limit
    clock_hz: float
    method: str


@dataclass(frozen=True)
class Ceilings:
    """What `measure` found. `path` is the file that predictions now read, or ""."""

    device: str
    name: str
    path: str
    ceilings: tuple[Ceiling, ...]

    _HEAD = ["resource", "ceiling", "of its limit", "how"]

    def _rows(self) -> list[list[str]]:
        return [
            [c.resource, si(c.value, c.unit), percent(c.value / c.limit) if c.limit else "", c.method]
            for c in self.ceilings
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.path or 'not kept'}\n{text_table(self._HEAD, self._rows())}"

    def _repr_html_(self) -> str:
        return html_table(self._HEAD, self._rows())


def measure(
    device: str | None = None,
    *,
    threads: int = 0,
    if_missing: bool = False,
    quick: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> Ceilings:
    """Measures the rates of this machine's memory, caches and arithmetic units, in under a minute.

    The result becomes this user's rates: later predictions for this device use it.

    Args:
        device: "cpu", "cuda" or the GPU's id; None: the GPU if there is one, else the CPU.
        threads: cores to use; 0: all.
        if_missing: do nothing if this machine was measured before.
        quick: takes a tenth of the time; the result is too noisy for predictions and is not kept.
        progress: called with (what, done, total) before each step.

    Raises:
        ValueError: the device is not on this machine.
        RuntimeError: a value is above its arithmetic limit, or the driver failed.
    """
    if progress is not None and not callable(progress):
        raise TypeError(f"progress is {kind_of(progress)}; it must be callable or None")
    found = json.loads(
        _core.measure(device, threads, if_missing, quick, _words(), progress)
    )
    names = Ceiling.__dataclass_fields__
    found["ceilings"] = tuple(
        Ceiling(**{name: one.get(name, 0) for name in names}) for one in found["ceilings"]
    )
    return Ceilings(**found)
