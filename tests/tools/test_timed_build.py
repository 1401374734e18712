# SPDX-License-Identifier: Apache-2.0
"""How long the WebAssembly build takes: seconds of processors, of a whole build alone."""
import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).parents[2]
# Two commands that wait two seconds each, one of which works for about one.
PROJECT = """cmake_minimum_required(VERSION 3.22)
project(timed NONE)
add_custom_command(OUTPUT busy.o DEPENDS ${CMAKE_SOURCE_DIR}/input
  COMMAND python3 -c "all(__import__('time').process_time() < 1.3 for _ in iter(int, 1))"
  COMMAND sleep 2 COMMAND touch busy.o VERBATIM)
add_custom_command(OUTPUT idle.o DEPENDS ${CMAKE_SOURCE_DIR}/other COMMAND sleep 2 COMMAND touch idle.o)
add_custom_target(both ALL DEPENDS busy.o idle.o)
"""


class TimedBuild(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source = pathlib.Path(folder.name)
        self.build = self.source / "build"
        for name, text in (("CMakeLists.txt", PROJECT), ("input", ""), ("other", "")):
            (self.source / name).write_text(text)
        subprocess.run(["cmake", "-S", self.source, "-B", self.build], check=True, capture_output=True)

    def run_it(self):
        return subprocess.run(["cmake", f"-DBUILD={self.build}", "-P", SOURCE / "cmake" / "timed_build.cmake"],
                              capture_output=True, text=True)

    def test_it_counts_processors_and_not_the_clock_of_a_whole_build_alone(self):
        self.assertEqual(self.run_it().returncode, 0)
        seconds = self.build / "seconds"
        # By the clock five and more.
        self.assertIn(int(seconds.read_text()), (1, 2, 3))
        seconds.write_text("77\n")
        (self.source / "other").write_text("changed")
        done = self.run_it()
        self.assertEqual(done.returncode, 0)
        self.assertIn("was built on", done.stdout)
        self.assertEqual(seconds.read_text(), "77\n")
        self.assertFalse((self.build / "times").exists())

    def test_a_build_that_fails_fails(self):
        (self.source / "input").unlink()
        self.assertNotEqual(self.run_it().returncode, 0)
        self.assertFalse((self.build / "seconds").exists())


if __name__ == "__main__":
    unittest.main()
