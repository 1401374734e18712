#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Licence texts of what a wheel contains of others: linked into it, compiled into it or beside it.

    tools/licenses.py gather [--cuda] [--folder licenses]    before the wheel is built, by its interpreter
    tools/licenses.py check [--cuda] WHEEL

A text is Debian's /usr/share/doc/PACKAGE/copyright, with the licences of /usr/share/common-licenses that
it names; nanobind's and the CUDA runtime's are those of their own packages.
"""
import argparse
import importlib.metadata
import pathlib
import re
import sys
import zipfile

DOC = pathlib.Path("/usr/share/doc")
COMMON = pathlib.Path("/usr/share/common-licenses")
CUDA = pathlib.Path("/usr/local/cuda")
#: By the name of the text: shared libraries by the name of theirs without what follows `.so`.
DEBIAN = {"libgomp": "libgomp1", "libhwy": "libhwy-dev", "libz": "zlib1g-dev", "libstdc++": "libstdc++6", "libmd": "libmd-dev",
          "libcsv": "libcsv-dev", "fmt": "libfmt-dev", "nlohmann-json": "nlohmann-json3-dev", "CLI11": "libcli11-dev",
          "vega": "libjs-vega", "emscripten": "emscripten"}
OTHERS = ["nanobind", "robin-map"]  # of the environment that builds the wheel
CUDART = "libcudart"
NAMED = re.compile(r"/usr/share/common-licenses/([A-Za-z0-9-]+(?:\.[0-9]+)*)")
#: Files that say LGPL-2.1+ and name no full text, as that of libcsv.
SHORT = re.compile(r"^License: *((?:L?GPL|MPL|Apache)-[0-9.]*[0-9])\+?$", re.MULTILINE)


class Missing(Exception):
    """A text that is not there."""


def common_names(text: str) -> set[str]:
    """Of full texts that a licence leaves to the system that it is installed on."""
    short = {name.removesuffix(".0") if name.startswith(("GPL", "LGPL")) else name for name in SHORT.findall(text)}
    return {name for name in {*NAMED.findall(text), *short} if (COMMON / name).is_file()}


def nanobind_texts() -> dict[str, str]:
    texts = {}
    for file in importlib.metadata.files("nanobind") or []:
        if file.name not in ("LICENSE", "robin_map.h"):
            continue
        text = pathlib.Path(str(file.locate())).read_text()
        if file.name == "LICENSE":
            texts["nanobind"] = text
        elif "License" in (head := text.partition("*/")[0]):  # it stands in the first comment of the header
            texts["robin-map"] = re.sub(r"^ ?[/*]+ ?", "", head, flags=re.MULTILINE).strip() + "\n"
    return texts


def cudart_text() -> str:
    for place in [*DOC.glob("cuda-cudart-dev-*/copyright"), CUDA / "EULA.txt",
                  *CUDA.glob("dist-info/nvidia_cuda_runtime-*/licenses/*")]:
        if place.is_file():
            return place.read_text(errors="replace")
    raise Missing(f"no licence text of the CUDA runtime: neither in {DOC}/cuda-cudart-dev-* nor in {CUDA}")


def gather(folder: pathlib.Path, cuda: bool) -> None:
    """Writes NAME.txt for each, and common-NAME.txt for each text that these leave to the system."""
    texts = nanobind_texts()
    if missing := set(OTHERS) - set(texts):
        raise Missing(f"no licence text of {', '.join(sorted(missing))} beside nanobind of {sys.executable}")
    for name, package in DEBIAN.items():
        place = DOC / package / "copyright"
        if not place.is_file():
            raise Missing(f"no licence text of {name}: {place} is not there; is the package {package} installed?")
        texts[name] = place.read_text()
    if cuda:
        texts[CUDART] = cudart_text()
    for name in sorted(set().union(*map(common_names, texts.values()))):
        texts[f"common-{name}"] = (COMMON / name).read_text()
    for old in folder.glob("*.txt"):
        old.unlink()
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)


def faults(wheel: pathlib.Path, cuda: bool) -> list[str]:
    """What the wheel lacks, one sentence each."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(name for name in names if name.endswith(".dist-info/METADATA"))
        folder = metadata.removesuffix("METADATA") + "licenses/"
        texts = {name.removeprefix(folder): archive.read(name).decode() for name in names
                 if name.startswith(folder) and not name.endswith("/")}
        listed = set(re.findall(r"^License-File: *(.+)$", archive.read(metadata).decode(), re.MULTILINE))
    by_name = {pathlib.PurePosixPath(name).stem: text for name, text in texts.items() if name.endswith(".txt")}
    shared = {pathlib.PurePosixPath(name).name for name in names if re.search(r"(^|/)lib[^/]*\.so(\.[^/]*)?$", name)}
    wanted = {library.split(".so")[0].split("-")[0] for library in shared}
    wanted |= {*DEBIAN, *OTHERS, *([CUDART] if cuda else [])}
    found = [f"no licence text of {name}" for name in sorted(wanted) if not by_name.get(name, "").strip()]
    for name in sorted({common for text in by_name.values() for common in common_names(text)}):
        if f"common-{name}" not in by_name:
            found.append(f"no text of the licence {name}, which another text names")
    if "LICENSE" not in texts:
        found.append("no licence text of raceline itself")
    return found + [f"{name} is no License-File of its metadata" for name in sorted(set(texts) - listed)]


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("what", choices=["gather", "check"])
    words.add_argument("wheel", nargs="?", type=pathlib.Path)
    words.add_argument("--cuda", action="store_true", help="the wheel has the CUDA runtime")
    words.add_argument("--folder", type=pathlib.Path, default=pathlib.Path(__file__).parents[1] / "licenses")
    given = words.parse_intermixed_args()
    if given.what == "gather":
        try:
            gather(given.folder, given.cuda)
        except Missing as missing:
            print(f"licenses: {missing}", file=sys.stderr)
            return 1
        return 0
    if given.wheel is None:
        words.error("check takes a wheel")
    wrong = faults(given.wheel, given.cuda)
    for fault in wrong:
        print(f"licenses: {given.wheel.name}: {fault}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
