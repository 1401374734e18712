# SPDX-License-Identifier: Apache-2.0
"""Wheels as one compressed archive, cut into parts that travel one by one, with a list of the parts
and their hashes; and the way back. bench/peer_wheels.py is what people call."""

import hashlib
import io
import json
import lzma
import tarfile
import zipfile
from pathlib import Path

INDEX = "peers.json"
STEM = "peers.tar.xz"


# The x86 filter turns relative addresses in code into absolute ones, which repeat.
def filters(preset):
    return [{"id": lzma.FILTER_X86},
            {"id": lzma.FILTER_LZMA2, "preset": preset, "dict_size": 64 << 20}]


def stored(wheel):
    """A wheel's bytes with nothing compressed inside: what one xz over all can do better."""
    to = io.BytesIO()
    with zipfile.ZipFile(wheel) as source, zipfile.ZipFile(to, "w", zipfile.ZIP_STORED) as target:
        for entry in source.infolist():
            same = zipfile.ZipInfo(entry.filename, entry.date_time)
            same.external_attr = entry.external_attr
            target.writestr(same, source.read(entry), zipfile.ZIP_STORED)
    return to.getvalue()


class Cut:
    """A file-like sink that cuts what is written into parts of a size."""

    def __init__(self, folder, stem, part_bytes):
        self.folder, self.stem, self.part_bytes = folder, stem, part_bytes
        self.parts, self.file, self.room = [], None, 0

    def write(self, data):
        rest = memoryview(data)
        while len(rest):
            if self.room == 0:
                self.close()
                path = self.folder / f"{self.stem}.{len(self.parts):03}"
                self.file, self.room = path.open("wb"), self.part_bytes
                self.parts.append(path)
            count = min(self.room, len(rest))
            self.file.write(rest[:count])
            self.room -= count
            rest = rest[count:]
        return len(data)

    def close(self):
        if self.file is not None:
            self.file.close()
            self.file, self.room = None, 0


def sha256(path):
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def pack(wheels, folder, part_bytes, preset=6):
    """Writes the parts and their list; returns the paths of the parts."""
    if not wheels:
        raise ValueError("there are no wheels to pack")
    if part_bytes < 1:
        raise ValueError(f"a part of {part_bytes} bytes holds nothing")
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(STEM + ".*"):
        old.unlink()
    cut = Cut(folder, STEM, part_bytes)
    with lzma.open(cut, "wb", filters=filters(preset)) as compressed, \
            tarfile.open(fileobj=compressed, mode="w|") as tar:
        for wheel in sorted(wheels):
            data = stored(wheel)
            entry = tarfile.TarInfo(wheel.name)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    cut.close()
    index = {"wheels": [wheel.name for wheel in sorted(wheels)],
             "parts": [{"name": p.name, "sha256": sha256(p)} for p in cut.parts]}
    (folder / INDEX).write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    return cut.parts


def missing_parts(folder):
    """Names of parts that have not come, or came damaged."""
    index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    return [part["name"] for part in index["parts"]
            if not (folder / part["name"]).is_file()
            or sha256(folder / part["name"]) != part["sha256"]]


class Joined(io.RawIOBase):
    """The parts, read as one file."""

    def __init__(self, paths):
        self.paths, self.file = list(paths), None

    def readable(self):
        return True

    def readinto(self, into):
        while True:
            if self.file is None:
                if not self.paths:
                    return 0
                self.file = self.paths.pop(0).open("rb")
            count = self.file.readinto(into)
            if count:
                return count
            self.file.close()
            self.file = None


def join(folder, wheels):
    """Unpacks complete parts into a folder of wheels; returns their paths."""
    missing = missing_parts(folder)
    if missing:
        raise ValueError(f"parts are missing or damaged: {', '.join(missing)}")
    index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
    wheels.mkdir(parents=True, exist_ok=True)
    parts = Joined(folder / part["name"] for part in index["parts"])
    found = []
    with io.BufferedReader(parts, 1 << 20) as whole, lzma.open(whole) as plain, \
            tarfile.open(fileobj=plain, mode="r|") as tar:
        for entry in tar:
            if not entry.isfile() or Path(entry.name).name != entry.name:
                raise ValueError(f"'{entry.name}' is no wheel")
            to = wheels / entry.name
            to.write_bytes(tar.extractfile(entry).read())
            found.append(to)
    return found
