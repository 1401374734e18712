#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Peers for a machine that is cut off: gathers their wheels here, installs them there.

    bench/peer_wheels.py gather wheels --python 3.12 --platform linux_x86_64 --peers fa4
    bench/peer_wheels.py pack wheels parts --part-megabytes 45
    bench/peer_wheels.py install parts --site site        # there, offline

gather takes binary wheels alone, at the versions pinned below, for a Python and platform that need
not be this one, and says which of their needs the other machine must have itself. pack stores the
wheels uncompressed in one archive, compresses that as a whole and cuts it into parts, with a list
of parts and their hashes; parts may travel one by one. install joins what has come, checks it, and
installs without a network into a folder, which `bench/compare.py --site` adds with its path files;
--path-file makes this Python add it by itself. Python 3.11 and pip are all it needs.
"""

import argparse
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

from wheel_parts import join, missing_parts, pack

# What each peer needs beyond PyTorch and what comes with it. The CuTe DSL is split: nvidia-cutlass-
# dsl is a shell around libs-base and libs-core, and libs-cu13 holds the compiler for CUDA 13.
CUTE = ["nvidia-cutlass-dsl==4.8.1", "nvidia-cutlass-dsl-libs-base==4.8.1",
        "nvidia-cutlass-dsl-libs-core==4.8.1", "nvidia-cutlass-dsl-libs-cu13==4.8.1",
        "apache-tvm-ffi==0.1.15.post2"]
PINS = {
    "fa4": ["flash-attn-4==4.0.0b36", "quack-kernels==0.6.5", "torch-c-dlpack-ext==0.1.5", *CUTE],
    # What else it names (cuDNN's front end, NCCL, tiles) belongs to functions that no one asks here.
    "flashinfer": ["flashinfer-python==0.7.2.post1", *CUTE],
}


def pins_of(peers):
    unknown = [peer for peer in peers if peer not in PINS]
    if unknown:
        raise ValueError(f"peer '{unknown[0]}' is not pinned here; {', '.join(PINS)} are")
    return list(dict.fromkeys(pin for peer in peers for pin in PINS[peer]))


def pip_platforms(platform):
    """pip takes no wheel of an older glibc unless told its tag: linux_x86_64 stands for all."""
    if not platform.startswith("linux_"):
        return [platform]
    machine = platform.removeprefix("linux_")
    tags = [f"manylinux_2_{minor}_{machine}" for minor in range(39, 4, -1)]
    return tags + [f"manylinux{name}_{machine}" for name in ("2014", "2010", "1")] + [platform]


def download_command(pins, folder, python, platform):
    compact = python.replace(".", "")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--pre", "--no-deps",
               "--only-binary=:all:", "--implementation", "cp", "--python-version", python]
    for abi in (f"cp{compact}", "abi3", "none"):
        command += ["--abi", abi]
    for tag in pip_platforms(platform):
        command += ["--platform", tag]
    return command + ["--dest", str(folder), *pins]


def normal(name):
    """A project's name as indexes compare it."""
    return name.lower().replace("_", "-").replace(".", "-")


def wanted(need, python):
    """Whether a line of Requires-Dist holds for that Python on Linux, without extras."""
    try:
        from pip._vendor.packaging.requirements import Requirement
    except ImportError:  # a Python without pip: say too much rather than too little
        return "extra ==" not in need.partition(";")[2]
    there = {"python_version": python, "python_full_version": f"{python}.0", "extra": "",
             "sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}
    marker = Requirement(need).marker
    return marker is None or marker.evaluate(there)


def requirements_of(wheel, python):
    """Lines of Requires-Dist that hold there."""
    with zipfile.ZipFile(wheel) as archive:
        metadata = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        lines = archive.read(metadata).decode().splitlines()
    needs = [line.removeprefix("Requires-Dist:").strip() for line in lines
             if line.startswith("Requires-Dist:")]
    return [need for need in needs if wanted(need, python)]


def needed_there(wheels, python):
    """{requirement: [wheels that name it]} that the wheels do not meet among themselves."""
    here = {normal(wheel.name.split("-")[0]) for wheel in wheels}
    needs = {}
    for wheel in wheels:
        for need in requirements_of(wheel, python):
            name = need
            for stop in " ;<>=!~[(":
                name = name.partition(stop)[0]
            if normal(name) not in here:
                needs.setdefault(need, []).append(wheel.name.split("-")[0])
    return needs


def gather(folder, peers, python, platform):
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(download_command(pins_of(peers), folder, python, platform), check=True)
    wheels = sorted(folder.glob("*.whl"))
    for wheel in wheels:
        print(f"{wheel.stat().st_size / 1e6:8.2f} MB  {wheel.name}")
    for need, names in sorted(needed_there(wheels, python).items()):
        print(f"must be there already: {need} (for {', '.join(names)})")


def install(folder, site, path_file):
    """Joins, and installs for the Python that runs this, which should be the one to compare with."""
    wheels = join(folder, folder / "wheels")
    site.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                    "--no-compile", "--no-cache-dir", "--disable-pip-version-check", "--upgrade",
                    "--target", str(site), *map(str, wheels)], check=True)
    for wheel in wheels:
        wheel.unlink()
    names = ", ".join(file.name for file in sorted(site.glob("*.pth"))) or "none"
    print(f"{len(wheels)} wheels in {site}; path files: {names}")
    if path_file:
        # A plain path in a .pth is added, but the .pth files inside are not read: addsitedir does.
        to = Path(sysconfig.get_path("purelib")) / "raceline_peers.pth"
        to.write_text(f"import site; site.addsitedir({os.fspath(site.resolve())!r})\n",
                      encoding="utf-8")
        print(f"wrote {to}")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("gather", help="download the pinned wheels")
    one.add_argument("folder", type=Path)
    one.add_argument("--python", default="3.12")
    one.add_argument("--platform", default="linux_x86_64")
    one.add_argument("--peers", default=",".join(PINS))
    one = commands.add_parser("pack", help="recompress and split")
    one.add_argument("folder", type=Path)
    one.add_argument("parts", type=Path)
    one.add_argument("--part-megabytes", type=float, default=58)
    one.add_argument("--preset", type=int, default=6, help="of xz: 0 (fast) to 9 (small)")
    one.add_argument("--beyond", type=Path, help="leave out wheels that stand in this folder too")
    one = commands.add_parser("missing", help="which parts have not come; status 3 if any")
    one.add_argument("parts", type=Path)
    one = commands.add_parser("install", help="join and install, offline")
    one.add_argument("parts", type=Path)
    one.add_argument("--site", type=Path, required=True)
    one.add_argument("--path-file", action="store_true")
    a = parser.parse_args(argv)
    try:
        if a.command == "gather":
            gather(a.folder, a.peers.split(","), a.python, a.platform)
        elif a.command == "pack":
            known = {w.name for w in a.beyond.glob("*.whl")} if a.beyond else set()
            wheels = [w for w in a.folder.glob("*.whl") if w.name not in known]
            for part in pack(wheels, a.parts, int(a.part_megabytes * 1e6), a.preset):
                print(f"{part.stat().st_size / 1e6:8.2f} MB  {part.name}")
        elif a.command == "missing":
            missing = missing_parts(a.parts)
            print("\n".join(missing) or "all parts are there")
            return 3 if missing else 0
        else:
            install(a.parts, a.site, a.path_file)
    except (ValueError, OSError, subprocess.CalledProcessError) as error:
        print(f"peer_wheels: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
