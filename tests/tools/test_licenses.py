# SPDX-License-Identifier: Apache-2.0
"""A wheel has the licence text of everything that it contains of others."""
import contextlib
import io
import pathlib
import sys
import tempfile
import unittest
import zipfile
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
import licenses  # noqa: E402

INFO = "raceline-1.dist-info"
NANOBIND = {"nanobind": "BSD of nanobind", "robin-map": "MIT of robin-map"}


class Licenses(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("doc", "common", "texts", "cuda"):
            (self.folder / name).mkdir()
        for package in licenses.DEBIAN.values():
            (self.folder / "doc" / package).mkdir()
            (self.folder / "doc" / package / "copyright").write_text(f"of {package}\n")
        (self.folder / "doc/libhwy-dev/copyright").write_text("see `/usr/share/common-licenses/Apache-2.0'.\n")
        (self.folder / "doc/libcsv-dev/copyright").write_text("Files: *\nLicense: LGPL-2.1+\n This library is free\n")
        for name in ("Apache-2.0", "LGPL-2.1", "GPL-3"):
            (self.folder / "common" / name).write_text(f"all of {name}\n")
        for name, place in (("DOC", "doc"), ("COMMON", "common"), ("CUDA", "cuda")):
            patched = mock.patch.object(licenses, name, self.folder / place)
            patched.start()
            self.addCleanup(patched.stop)
        patched = mock.patch.object(licenses, "nanobind_texts", lambda: dict(NANOBIND))
        patched.start()
        self.addCleanup(patched.stop)

    def gather(self, cuda=False):
        licenses.gather(self.folder / "texts", cuda)
        return {file.stem: file.read_text() for file in (self.folder / "texts").glob("*.txt")}

    def wheel(self, without=(), unlisted=(), libraries=("libgomp.so.1", "libhwy.so.1", "libz.so.1"), own=True):
        """Built of the texts that were gathered."""
        path = self.folder / "raceline.whl"
        listed = []
        with zipfile.ZipFile(path, "w") as archive:
            for library in libraries:
                archive.writestr(f"raceline/{library}", "ELF")
            archive.writestr("raceline/_core.abi3.so", "ELF")
            if own:
                archive.writestr(f"{INFO}/licenses/LICENSE", "Apache")
                listed.append("LICENSE")
            for file in (self.folder / "texts").glob("*.txt"):
                if file.stem not in without:
                    archive.write(file, f"{INFO}/licenses/licenses/{file.name}")
                    listed += [] if file.stem in unlisted else [f"licenses/{file.name}"]
            archive.writestr(f"{INFO}/METADATA", "".join(f"License-File: {name}\n" for name in listed))
        return path

    def test_texts_come_with_the_full_licences_that_they_name(self):
        (self.folder / "texts/libold.txt").write_text("of another build")
        texts = self.gather()
        self.assertEqual(set(texts), {*licenses.DEBIAN, *NANOBIND, "common-Apache-2.0", "common-LGPL-2.1"})
        self.assertEqual(texts["libgomp"], "of libgomp1\n")
        self.assertEqual(texts["common-LGPL-2.1"], "all of LGPL-2.1\n")

    def test_a_text_that_is_not_there_is_named(self):
        (self.folder / "doc/libmd-dev/copyright").unlink()
        with self.assertRaisesRegex(licenses.Missing, "no licence text of libmd: .*libmd-dev"):
            self.gather()

    def test_the_cuda_runtime_has_its_own(self):
        with self.assertRaisesRegex(licenses.Missing, "CUDA runtime"):
            self.gather(cuda=True)
        (self.folder / "cuda/EULA.txt").write_text("NVIDIA's\n")
        self.assertEqual(self.gather(cuda=True)["libcudart"], "NVIDIA's\n")

    def test_a_whole_wheel_passes(self):
        self.gather()
        self.assertEqual(licenses.faults(self.wheel(), False), [])

    def test_what_a_wheel_lacks_is_named(self):
        self.gather()
        for name in ("libgomp", "libhwy", "vega", "nanobind"):
            self.assertEqual(licenses.faults(self.wheel(without=[name]), False)[0], f"no licence text of {name}")
        self.assertEqual(licenses.faults(self.wheel(), True), ["no licence text of libcudart"])
        self.assertEqual(licenses.faults(self.wheel(without=["common-LGPL-2.1"]), False),
                         ["no text of the licence LGPL-2.1, which another text names"])
        self.assertEqual(licenses.faults(self.wheel(unlisted=["libz"]), False),
                         ["licenses/libz.txt is no License-File of its metadata"])
        self.assertEqual(licenses.faults(self.wheel(own=False), False), ["no licence text of raceline itself"])
        # A library that nobody thought of, by its name with a hash as other tools make it.
        self.assertEqual(licenses.faults(self.wheel(libraries=["libnew-1a2b.so.3"]), False), ["no licence text of libnew"])

    def test_the_command_exits_with_1_and_a_sentence(self):
        self.gather()
        wheel = str(self.wheel())
        for words, exit_code, said in ((["check", wheel], 0, ""), (["check", "--cuda", wheel], 1, "no licence text of libcudart"),
                                       (["gather", "--cuda", "--folder", wheel], 1, "CUDA runtime")):
            with mock.patch("sys.argv", ["licenses.py", *words]), contextlib.redirect_stderr(io.StringIO()) as err:
                self.assertEqual(licenses.main(), exit_code, words)
            self.assertIn(said, err.getvalue())

    def test_the_release_asks_for_it(self):
        script = (pathlib.Path(licenses.__file__).parent / "release.sh").read_text()
        self.assertIn("tools/licenses.py gather", script)
        self.assertIn("tools/licenses.py check", script)


if __name__ == "__main__":
    unittest.main()
