# SPDX-License-Identifier: Apache-2.0
import pytest
import raceline

SHAPE = "h=32/8,q=4096,k=4096,d=128,causal"


def test_every_device_has_one():
    for device in raceline.devices():
        found = raceline.bound(SHAPE, device=device.id)
        assert found.seconds == max(found.memory, found.compute, found.launch) > 0, device.id
        assert found.device == device.id and found.limiter and found.rates


def test_a_device_that_no_kernel_runs_on():
    with pytest.raises(NotImplementedError):
        raceline.predict(SHAPE, device="mi300x")
    found = raceline.bound(SHAPE, device="mi300x")
    rates = {device.id: device for device in raceline.devices()}["mi300x"].rates
    assert found.seconds == found.compute == pytest.approx(4 * 32 * 128 * 4096 * 4097 / 2 / rates[found.engine])
    assert found.intensity > found.ridge and found.rates == "datasheet"
    assert "at least" in str(found) and found.engine in found._repr_html_() and "mi300x" in repr(found)


def test_an_operation_is_bound_by_its_bytes():
    found = raceline.bound("op=rmsnorm,n=8192x4096,dtype=bf16", device="h200")
    assert found.limiter == "dram" and found.intensity < found.ridge


def test_no_kernel_is_predicted_below_it():
    assert raceline.predict(SHAPE, device="h200").seconds >= raceline.bound(SHAPE, device="h200").seconds


@pytest.mark.parametrize("arguments, error, said", [
    (("h=32,qq=1",), ValueError, "qq"),
    ((3,), TypeError, "shape"),
    ((None,), TypeError, "shape"),
])
def test_refusals(arguments, error, said):
    with pytest.raises(error, match=said):
        raceline.bound(*arguments, device="h200")
    with pytest.raises(ValueError, match="h200"):
        raceline.bound(SHAPE, device="h2000")
    with pytest.raises(TypeError, match="device"):
        raceline.bound(SHAPE, device=3)
