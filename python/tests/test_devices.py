# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest
import raceline


def test_devices():
    known = {device.id: device for device in raceline.devices()}
    assert len(known) == len(raceline.devices()) > 10
    h200 = known["h200"]
    assert h200.units == 132 and h200.memory_bytes > 140e9
    assert 4.0e12 < h200.rates["byte.dram_read"] < 5.0e12
    assert h200.sources.keys() == h200.rates.keys()
    cpu = known["cpu"]
    assert cpu.live and cpu.units >= 1 and raceline.devices()[0].live
    text = str(raceline.devices())
    assert len(text.splitlines()) == len(known) + 2 and "h200" in text
    assert raceline.devices()._repr_html_().count("<tr>") == len(known) + 1


def test_measure_quickly_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    steps = []
    found = raceline.measure(
        "cpu", threads=1, quick=True, progress=lambda what, done, total: steps.append((done, total))
    )
    assert found.device == "cpu" and found.path == ""
    assert steps and all(0 <= done <= total for done, total in steps)
    rates = {c.resource: c for c in found.ceilings}
    read = rates["byte.dram_read"]
    # What any machine that runs this has, to the order: a broken unit would miss by a thousand.
    assert read.unit == "byte/s" and 1e8 < read.value < 1e13
    assert rates["flop.fma.fp32"].value > 1e9
    assert all(c.value > 0 and c.method for c in found.ceilings)
    assert not list(tmp_path.rglob("*.jsonl"))
    assert "byte.dram_read" in str(found) and "byte.dram_read" in found._repr_html_()


def test_measure_hears_an_exception():
    class Enough(Exception):
        pass

    def progress(what, done, total):
        raise Enough

    with pytest.raises(Enough):
        raceline.measure("cpu", quick=True, progress=progress)


def test_measure_refuses():
    with pytest.raises(ValueError, match="device 'mi300x' is not on this machine"):
        raceline.measure("mi300x")
    with pytest.raises(ValueError, match="threads"):
        raceline.measure("cpu", threads=-1)
    with pytest.raises(TypeError, match="progress"):
        raceline.measure("cpu", progress=3)
    with pytest.raises(TypeError, match="threads is or holds a float"):
        raceline.measure("cpu", threads=1.5)
    with pytest.raises(ValueError, match="threads"):
        raceline.measure("cpu", threads=2**40)
    with pytest.raises(TypeError, match="quick is a str; it must be True or False"):
        raceline.measure("cpu", quick="yes")
    with pytest.raises(TypeError, match="device is an int"):
        raceline.measure(3)


def test_version():
    major, minor, patch = map(int, raceline.__version__.split("."))
    assert (major, minor, patch) >= (0, 1, 0)


def test_the_five_lines_of_the_documentation():
    import pathlib
    import re

    page = pathlib.Path(__file__).parents[2] / "docs" / "guides" / "python.md"
    script = re.search(r"```python\n(.*?)```", page.read_text(), re.S).group(1)
    assert len(script.strip().splitlines()) == 5
    names = {}
    exec(script, names)
    assert isinstance(names["out"], np.ndarray) and np.isfinite(names["out"]).all()
