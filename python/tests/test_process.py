# SPDX-License-Identifier: Apache-2.0
"""Memory, threads, the GIL, and what the extension module needs of its machine."""

import gc
import pathlib
import shutil
import subprocess
import sys
import sysconfig
import threading

import numpy as np
import oracle
import pytest
import raceline


def resident_bytes():
    fields = pathlib.Path("/proc/self/statm").read_text().split()
    return int(fields[1]) * 4096


def grown_bytes(call, calls=10_000):
    for _ in range(500):
        call()
    gc.collect()
    before = resident_bytes()
    for _ in range(calls):
        call()
    gc.collect()
    return resident_bytes() - before


def refused(x):
    with pytest.raises(ValueError):
        raceline.attention(x, x, x, scale=-1.0)


def read_only(x):
    x = x.view()
    x.flags.writeable = False
    return x


CALLS = {
    "attention": lambda x: raceline.attention(x, x, x, causal=True, return_lse=True),
    "read-only": lambda x: raceline.attention(read_only(x), x, x),
    "copied": lambda x: raceline.attention(x[:, ::-1], x, x),
    "decode": lambda x: raceline.decode(x[:, :1], x, x),
    "predict": lambda x: raceline.predict(x, x, x),
    "refused": refused,
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_no_leak_over_ten_thousand_calls(normal, call):
    """One kept output of 4 KiB a call would be 41 MB, one kept view of 100 bytes a megabyte."""
    x = normal(1, 16, 1, 64)
    references = sys.getrefcount(x)
    assert grown_bytes(lambda: call(x)) < 1_000_000
    assert sys.getrefcount(x) == references


def test_several_threads(normal):
    shapes = [(1, 33 + 16 * i, 2, 32 + 8 * i) for i in range(8)]
    inputs = [[normal(*shape) for _ in range(3)] for shape in shapes]
    answers = [oracle.batch(*x, causal=True)[0] for x in inputs]
    failures = []

    def work(mine):
        try:
            for turn in range(40):
                at = (mine + turn) % len(shapes)
                oracle.check(raceline.attention(*inputs[at], causal=True), answers[at])
                raceline.predict(*inputs[at], device=("cpu", "h200")[turn % 2])
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_gil_is_released(normal):
    """While one long call runs, this thread keeps counting."""
    x = normal(1, 6144, 8, 64)  # long enough on many cores, too
    done = threading.Event()
    worker = threading.Thread(target=lambda: (raceline.attention(x, x, x), done.set()))
    turns = []
    worker.start()
    while not done.wait(0.001):
        turns.append(None)
    worker.join()
    assert len(turns) > 5


ALLOWED = {
    "libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1",
    "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libstdc++.so.6", "libgcc_s.so.1",
}


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf")
def test_the_package_brings_what_a_bare_machine_lacks():
    folder = pathlib.Path(raceline.__file__).parent
    bundled = {path.name for path in folder.glob("*.so*")}
    files = sorted(folder.glob("*.so*"))
    assert any(path.name.startswith("_core.") for path in files)
    for path in files:
        dynamic = subprocess.run(
            ["readelf", "-d", path], capture_output=True, text=True, check=True
        ).stdout
        needed = {line.split("[")[1][:-1] for line in dynamic.splitlines() if "(NEEDED)" in line}
        assert needed <= ALLOWED | bundled, path
        if needed & bundled:
            assert "$ORIGIN" in dynamic and str(pathlib.Path.home()) not in dynamic
        if path.name.startswith("_core."):
            assert "libstdc++.so.6" not in needed


def test_the_extension_is_of_the_stable_abi():
    folder = pathlib.Path(raceline.__file__).parent
    stable = sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED")
    suffix = ".abi3.so" if stable else sysconfig.get_config_var("EXT_SUFFIX")
    assert (folder / f"_core{suffix}").exists()
