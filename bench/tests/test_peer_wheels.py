# SPDX-License-Identifier: Apache-2.0
"""Wheels cut into parts and joined again, with small wheels made here and no network."""

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import peer_wheels  # noqa: E402


def quiet(arguments):
    """Status and standard output of the program."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = peer_wheels.main([str(a) for a in arguments])
    return status, out.getvalue()


def make_wheel(folder, name, files, needs=()):
    """A wheel that pip installs: content, metadata, an empty RECORD."""
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
    metadata += "".join(f"Requires-Dist: {need}\n" for need in needs)
    entries = {**files, f"{info}/METADATA": metadata, f"{info}/RECORD": "",
               f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry, content in entries.items():
            archive.writestr(entry, content)
    return path


class Parts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = Path(scratch.name)
        self.wheels, self.parts = self.root / "wheels", self.root / "parts"
        self.wheels.mkdir()
        # Random bytes do not compress: they make the parts' number known from below.
        make_wheel(self.wheels, "alpha", {"alpha/__init__.py": "value = 7\n",
                                          "alpha/blob": os.urandom(30000),
                                          "alpha.pth": "import alpha; alpha.marked = True\n"},
                   ["beta>=1", "torch", "numpy<3; python_version < '4'", "ruff; extra == 'dev'",
                    "enum34; python_version < '3.11'"])
        make_wheel(self.wheels, "beta", {"beta/__init__.py": "from alpha import value\n"})

    def pack(self, kilobytes=10):
        status, said = quiet(["pack", self.wheels, self.parts, "--part-megabytes",
                              kilobytes / 1000])
        self.assertEqual(status, 0, said)
        return sorted(self.parts.glob("peers.tar.xz.*"))

    def test_parts_have_the_size_and_join_to_the_same_contents(self):
        parts = self.pack()
        self.assertGreater(len(parts), 3)
        self.assertTrue(all(p.stat().st_size == 10000 for p in parts[:-1]))
        self.assertLessEqual(parts[-1].stat().st_size, 10000)
        joined = peer_wheels.join(self.parts, self.root / "joined")
        self.assertEqual([w.name for w in joined],
                         sorted(w.name for w in self.wheels.glob("*.whl")))
        for wheel in joined:
            with zipfile.ZipFile(wheel) as new, zipfile.ZipFile(self.wheels / wheel.name) as old:
                self.assertEqual(new.namelist(), old.namelist())
                for entry in old.namelist():
                    self.assertEqual(new.read(entry), old.read(entry))

    def test_lost_and_damaged_parts_are_named(self):
        parts = self.pack()
        self.assertEqual(quiet(["missing", self.parts])[0], 0)
        parts[1].write_bytes(b"x" + parts[1].read_bytes()[1:])
        parts[2].unlink()
        status, said = quiet(["missing", self.parts])
        self.assertEqual((status, said.split()), (3, [parts[1].name, parts[2].name]))
        status, said = quiet(["install", self.parts, "--site", self.root / "site"])
        self.assertEqual(status, 1)
        self.assertIn(f"missing or damaged: {parts[1].name}, {parts[2].name}", said)

    def test_fewer_parts_leave_no_old_ones(self):
        many = self.pack(5)
        few = self.pack(500)
        self.assertGreater(len(many), len(few))
        self.assertEqual(len(few), 1)
        self.assertEqual(peer_wheels.missing_parts(self.parts), [])

    def test_beyond_leaves_out_what_the_other_folder_has(self):
        other = self.root / "other"
        other.mkdir()
        make_wheel(other, "beta", {})
        quiet(["pack", self.wheels, self.parts, "--beyond", other])
        index = json.loads((self.parts / "peers.json").read_text())
        self.assertEqual(index["wheels"], ["alpha-1.0-py3-none-any.whl"])

    def test_nothing_to_pack_is_refused(self):
        (self.root / "empty").mkdir()
        status, said = quiet(["pack", self.root / "empty", self.parts])
        self.assertEqual(status, 1)
        self.assertIn("no wheels", said)

    def test_installs_offline_with_path_files(self):
        if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("this Python has no pip")
        self.pack()
        site = self.root / "site"
        # pip says what it says on the process's own streams.
        done = subprocess.run([sys.executable, peer_wheels.__file__, "install", str(self.parts),
                               "--site", str(site)], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("path files: alpha.pth", done.stdout)
        script = (f"import site; site.addsitedir({str(site)!r}); import alpha, beta;"
                  "assert beta.value == 7 and alpha.marked")
        subprocess.run([sys.executable, "-c", script], check=True)

    def test_needs_that_the_other_machine_must_have(self):
        needs = peer_wheels.needed_there(sorted(self.wheels.glob("*.whl")), "3.12")
        self.assertEqual(needs, {"torch": ["alpha"], "numpy<3; python_version < '4'": ["alpha"]})


class Pins(unittest.TestCase):
    def test_every_pin_is_exact_and_peers_share_them(self):
        pins = peer_wheels.pins_of(["fa4", "flashinfer"])
        self.assertEqual(len(pins), len({pin.split("==")[0] for pin in pins}))
        self.assertTrue(all(pin.count("==") == 1 for pin in pins))
        with self.assertRaisesRegex(ValueError, "fa5"):
            peer_wheels.pins_of(["fa5"])

    def test_command_names_python_and_platform(self):
        command = peer_wheels.download_command(["a==1"], Path("to"), "3.12", "linux_x86_64")
        for word in ("cp312", "manylinux_2_28_x86_64", "manylinux2014_x86_64", "3.12"):
            self.assertIn(word, command)
        self.assertEqual(command[-1], "a==1")
        self.assertEqual(peer_wheels.pip_platforms("win_amd64"), ["win_amd64"])


if __name__ == "__main__":
    unittest.main()
