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


def test_a_small_call_is_bound_by_a_launch_within_a_graph():
    floors = {device.id: device for device in raceline.devices()}["h200"].rates
    found = raceline.bound("op=embedding,tokens=29,vocab=50257,d=2048,dtype=bf16", device="h200")
    assert found.limiter == "launch" and found.seconds == floors["floor.launch_graph"]


def test_a_call_that_does_not_fit_says_so():
    found = raceline.predict("b=64,h=32/8,q=1,k=131072,d=128", device="l4")
    assert "34.4 GB" in found.too_large and "would be refused" in str(found)
    assert raceline.predict("b=64,h=32/8,q=1,k=131072,d=128", device="h200").too_large == ""


def test_a_device_that_nothing_is_compiled_for_says_so():
    found = raceline.predict("h=16,q=4096,k=4096,d=128,dtype=fp16", device="v100")
    assert "compute capability 7.5" in found.not_compiled and found.not_compiled in str(found)
    assert raceline.predict("h=16,q=4096,k=4096,d=128", device="h200").not_compiled == ""


def test_no_kernel_is_predicted_below_it():
    assert raceline.predict(SHAPE, device="h200").seconds >= raceline.bound(SHAPE, device="h200").seconds


@pytest.mark.parametrize("arguments, error, said", [
    (("h=32,qq=1",), ValueError, "qq"),
    ((3,), TypeError, "shape is an int; it must be a text"),
    ((None,), TypeError, "shape is a NoneType; it must be a text"),
])
def test_refusals(arguments, error, said):
    with pytest.raises(error, match=said):
        raceline.bound(*arguments, device="h200")
    with pytest.raises(ValueError, match="h200"):
        raceline.bound(SHAPE, device="h2000")
    with pytest.raises(TypeError, match="device"):
        raceline.bound(SHAPE, device=3)
