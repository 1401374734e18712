# SPDX-License-Identifier: Apache-2.0
"""The least time of a problem, above all kernels."""

from __future__ import annotations

import json

from . import _core
from ._table import Shown, kind_of, percent, seconds


class Bound(Shown):
    """What a problem must move and compute, and how long that takes at least. Times are seconds.

    Attributes:
        seconds: the longest of the next three; 0 if nothing is known.
        memory: compulsory bytes at the DRAM ceilings.
        compute: operations on the fastest engine that may multiply these types.
        launch: the floor of one launch, on a GPU within a graph; 0 if it is not known.
        limiter: "dram", `engine` or "launch".
        engine: the id of that engine.
        intensity: operations per compulsory byte.
        ridge: the intensity at which operations and bytes take equally long.
        rates: where the limiter's rate comes from: "committed", "datasheet", "measured here".
        device, device_name: the device's id and its name.
    """

    __slots__ = ("seconds", "memory", "compute", "launch", "limiter", "engine", "intensity", "ridge",
                 "rates", "device", "device_name")

    def __init__(self, text: str):
        row = json.loads(text)
        found = row["bound"]
        self.seconds: float = found["seconds"]
        self.memory: float = found["memory_seconds"]
        self.compute: float = found["compute_seconds"]
        self.launch: float = found["launch_seconds"]
        self.limiter: str = found["limiter"]
        self.engine: str = found["engine"]
        self.intensity: float = found["arithmetic_intensity"]
        self.ridge: float = found["ridge"]
        self.rates: str = found["rates"]
        self.device: str = row["device"]["id"]
        self.device_name: str = row["device"]["name"]

    _HEAD = ("", "time", "of the bound")

    def _rows(self) -> list[list[str]]:
        parts = (("dram", self.memory), (self.engine or "operations", self.compute), ("launch", self.launch))
        return [[name, seconds(time), percent(time / self.seconds) if self.seconds else ""]
                for name, time in parts if time]

    def _title(self) -> str:
        if not self.seconds:
            return f"no bound is known on {self.device_name}"
        return (f"at least {seconds(self.seconds)} on {self.device_name}, by {self.limiter} (rate: {self.rates}); "
                f"{self.intensity:.3g} FLOP/B, ridge at {self.ridge:.3g}")

    def __repr__(self) -> str:
        return f"<Bound {seconds(self.seconds)}, limiter {self.limiter}, device {self.device}>"


def bound(shape: str, *, device: str | None = None) -> Bound:
    """The least time that a problem can take on a device, whatever kernel or library solves it.

    Args:
        shape: in the command line's grammar: "b=64,h=32/8,q=1,k=8192,d=128" is attention,
            "op=rmsnorm,n=8192x4096,dtype=bf16" an operation.
        device: an id of `devices()`, also one that no kernel here runs on ("mi300x"); None: this
            machine (its GPU if it has one).

    Raises:
        TypeError: an argument is no text.
        ValueError: the shape or the device is not known; the message names the nearest one.

    Caches count as cold. Source: docs/model.md, The bound of the problem.

    Examples:
        >>> raceline.bound("h=32/8,q=4096,k=4096,d=128,causal", device="mi300x")
    """
    if not isinstance(shape, str):
        raise TypeError(f"shape is {kind_of(shape)}; it must be a text such as 'h=8,q=1,k=8192,d=128'")
    return Bound(_core.bound_of_shape(shape, device))
