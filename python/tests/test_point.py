# SPDX-License-Identifier: Apache-2.0
import math

import pytest
import raceline


def test_a_point_and_its_bound():
    found = raceline.point(1e12, 1e9, 1e-3, engine="fma.fp32", device="h200")
    rates = {device.id: device for device in raceline.devices()}["h200"].rates
    assert found.limiter == found.engine == "flop.fma.fp32"
    assert found.memory_level == "byte.dram_read" and found.device == "h200"
    assert found.intensity == pytest.approx(1000)
    assert found.ridge == pytest.approx(rates["flop.fma.fp32"] / rates["byte.dram_read"])
    assert found.bound == found.compute > found.memory
    assert found.of_roof == pytest.approx(found.bound / 1e-3)
    assert found.gain_of_tenth == pytest.approx(1.1)
    assert "of the roof" in str(found) and "flop.fma.fp32" in found._repr_html_()
    assert "intensity, ridge" in str(found) and "1000, " in str(found)


def test_the_short_form_says_what_matters():
    found = raceline.point(1e12, 1e9, 1e-1, engine="fma.fp32", device="h200")
    said = repr(found)
    assert said.startswith("<Point intensity 1000 FLOP/B, bound ") and said.endswith(", device h200>")
    assert "limiter flop.fma.fp32" in said and found.standing in said
    assert f"{100 * found.of_roof:.0f} % of the roof in 100 ms" in said
    assert "roof" not in repr(raceline.point(bytes=1e9, device="h200"))


def test_bytes_alone_and_no_measurement():
    found = raceline.point(bytes=10**9, memory="l2", device="h200")
    assert found.limiter == "byte.l2" and found.engine == ""
    assert found.seconds is None and found.of_roof is None and found.standing == "not measured"
    assert "measured" not in str(found)


def test_this_machine():
    assert raceline.point(bytes=1e9, device="cpu").bound > 0


@pytest.mark.parametrize("arguments, error, said", [
    (dict(flops=1e9), ValueError, "engine"),
    (dict(flops=1e9, engine="wgmma.bf61"), ValueError, "wgmma.bf16"),
    (dict(bytes=math.nan), ValueError, "bytes is nan"),
    (dict(bytes=-1), ValueError, "bytes is -1"),
    (dict(bytes=10**400), ValueError, "beyond what a float holds"),
    (dict(), ValueError, "flops and bytes are 0"),
    (dict(bytes=1, seconds=0), ValueError, "seconds is 0"),
    (dict(bytes=1, device="h2000"), ValueError, "h200"),
    (dict(bytes="1"), TypeError, "bytes is a str"),
    (dict(bytes=True), TypeError, "bytes is a bool"),
    (dict(bytes=None), TypeError, "bytes is a NoneType"),
    (dict(bytes=1, memory=2), TypeError, "memory is an int"),
])
def test_refusals(arguments, error, said):
    with pytest.raises(error, match=said):
        raceline.point(**{"device": "h200", **arguments})
