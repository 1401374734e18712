# SPDX-License-Identifier: Apache-2.0
"""bench/counters.py: what ncu prints is read, and a limiter is named by the rule. ncu_gqa.csv has the
form of a profile of two launches; its numbers are made up, so that every rule meets one. The last
test needs the built library: RACELINE_LIBRARY names it, else build/libraceline.so."""

import contextlib
import io
import json
import os
import re
import stat
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import capacity
import counters
import limiter
import profiler
from c_library import Library

LIBRARY = os.environ.get("RACELINE_LIBRARY", str(HERE.parents[1] / "build" / "libraceline.so"))
RECORDED = (HERE / "ncu_gqa.csv").read_text()


def global_functions():
    """Names of the __global__ functions of kernels and rungs, by their files."""
    root = HERE.parents[1]
    for folder in ("kernels", "ladder"):
        for path in sorted((root / folder).rglob("*.cu*")):
            text = re.sub(r"__launch_bounds__\((?:[^()]|\([^()]*(?:\([^()]*\))?[^()]*\))*\)", "", path.read_text())
            for name in re.findall(r"__global__\s+void\s+(?:[A-Z_]+\((?:[^()]|\([^()]*\))*\)\s*)?(\w+)\(", text):
                yield path.relative_to(root), name


class Names(unittest.TestCase):
    def test_every_kernel_of_the_tree_is_profiled(self):
        ours = re.compile(profiler.OURS.removeprefix("regex:"))
        found = list(global_functions())
        self.assertGreater(len(found), 30)
        for path, name in found:
            self.assertTrue(ours.match(name), f"{path}: {name}")


class Parsing(unittest.TestCase):
    def test_launches_come_with_their_counters_in_base_units(self):
        forward, merge = profiler.parse(RECORDED)
        self.assertEqual([forward["name"], merge["name"]], ["forward", "merge"])
        self.assertAlmostEqual(forward[limiter.DURATION], 24e-6)
        self.assertEqual(forward["dram__bytes_read.sum"], 33554432)
        self.assertIsNone(forward["sm__pipe_tensor_cycles_active" + limiter.PEAK])

    def test_nothing_profiled_is_no_launch(self):
        self.assertEqual(profiler.parse("==WARNING== No kernels were profiled.\n"), [])

    def test_a_metric_that_this_profiler_lacks_is_found_by_name(self):
        said = "==ERROR== Failed to find metric lts__t_bytes.sum\n"
        self.assertEqual(profiler.unknown_metrics(said), ["lts__t_bytes.sum"])

    def test_equal_calls_are_counted_once(self):
        names = [{"name": n} for n in ("scores", "softmax", "outputs") * 3]
        self.assertEqual(profiler.calls_of(names), 3)
        self.assertEqual(profiler.calls_of([{"name": "forward"}, {"name": "merge"}]), 1)


FUSSY_NCU = """#!/bin/sh
[ "$1" = --query-metrics ] && printf 'dram__throughput  a\\nlts__throughput  b\\n' && exit 0
while [ "$1" != --log-file ]; do shift; done
log=$2
while [ "$1" != --metrics ]; do shift; done
case $2 in
    *sm__new*) echo "==ERROR== no" >"$log" ;;
    *) cp "{recorded}" "$log" ;;
esac
"""


class Metrics(unittest.TestCase):
    def test_what_the_profiler_does_not_list_is_dropped_and_said(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ncu"
            path.write_text(FUSSY_NCU.format(recorded=HERE / "ncu_gqa.csv"))
            path.chmod(0o755)
            wanted = ["dram__throughput.avg", "lts__throughput.avg", "sm__new.sum",
                      "launch__grid_size"]
            ncu = profiler.Profiler(str(path), wanted)
            self.assertEqual(len(ncu.launches(["true"])), 2)
            self.assertEqual(ncu.missing, ["sm__new.sum"])
            self.assertNotIn("sm__new.sum", ncu.metrics)


class Naming(unittest.TestCase):
    def test_the_busiest_resource_over_its_threshold(self):
        self.assertEqual(limiter.name_limiter({"dram": 0.7, "op.issue": 0.65}, 1), "dram")
        self.assertEqual(limiter.name_limiter({"dram": 0.60, "op.issue": 0.3}, 1), "dram")

    def test_else_warps_wait_or_sms_have_nothing_to_do(self):
        self.assertEqual(limiter.name_limiter({"dram": 0.59}, 0.95), "latency")
        self.assertEqual(limiter.name_limiter({"dram": 0.2}, 0.5), "tail")
        self.assertEqual(limiter.name_limiter({"dram": 0.2}, None), "latency")

    def test_time_in_which_no_sm_holds_a_cta_is_the_launch_s(self):
        self.assertEqual(limiter.name_limiter({"dram": 0.2}, 0.4, 0.55), "latency")
        self.assertEqual(limiter.name_limiter({"dram": 0.2}, 0.3, 0.55), "tail")
        self.assertEqual(limiter.name_limiter({"dram": 0.4}, 0.3, 0.55), "dram")
        self.assertEqual(limiter.name_limiter({"dram": 0.4}, 0.3, 0.7), "tail")
        one = {limiter.DURATION: 4e-6, limiter.ELAPSED: 8000, limiter.LONGEST_RESIDENT: 2000}
        two = {limiter.DURATION: 2e-6, limiter.ELAPSED: 4000, limiter.LONGEST_RESIDENT: 4000}
        self.assertAlmostEqual(limiter.started_share([one, two]), 0.5)
        self.assertIsNone(limiter.started_share([one, {limiter.DURATION: 1e-6}]))

    def test_no_counter_names_nothing(self):
        with self.assertRaises(ValueError):
            limiter.name_limiter({}, 1)

    def test_launches_weigh_by_their_time(self):
        shares = limiter.busy_shares(profiler.parse(RECORDED))
        self.assertAlmostEqual(shares["dram"], (0.305 * 24 + 0.025 * 8) / 32)
        self.assertAlmostEqual(shares["op.issue"], (0.72 * 24 + 0.04 * 8) / 32)
        self.assertEqual(shares["tensor"], 0)  # its second name, where the first has no value
        self.assertEqual(shares["byte.smem_mma"], 0)  # the data pipe explains every bank read

    def test_the_matrix_engine_goes_by_the_model_s_name(self):
        self.assertEqual(limiter.as_model_id("tensor", ["dram", "flop.wgmma.fp16"]),
                         "flop.wgmma.fp16")
        self.assertEqual(limiter.as_model_id("dram", ["flop.wgmma.fp16"]), "dram")

    def test_every_metric_is_asked_for_once(self):
        self.assertEqual(len(limiter.metrics()), len(set(limiter.metrics())))


class Memory(unittest.TestCase):
    """Levels of memory by what passed over what probes reach."""
    RATES = {"byte.dram_read": 4e12, "byte.dram_write": 4e12, "byte.dram_copy": 3.2e12,
             "byte.l2": 8e12, "byte.l2_link": 2e12}
    # A millisecond in which 2 GB were read and 1 GB was stored, a quarter of which left for DRAM.
    LAUNCH = {limiter.DURATION: 1e-3, "dram__bytes_read.sum": 2e9, "dram__bytes_write.sum": 0.25e9,
              "l1tex__m_l1tex2xbar_write_bytes.sum": 1e9, "lts__t_bytes.sum": 4.8e9,
              "lts__t_sectors_srcunit_ltcfabric.sum": 1e9 / 32,
              "dram__throughput" + limiter.PEAK: 50.0, "lts__throughput" + limiter.PEAK: 90.0}

    def test_stores_of_a_cold_call_reach_dram(self):
        shares = limiter.memory_shares([self.LAUNCH], self.RATES, True)
        self.assertAlmostEqual(shares["dram"], 0.5 + 0.25 + 1 * (2 / 3.2 - 0.5))
        self.assertAlmostEqual(shares["byte.l2"], 0.6)
        self.assertAlmostEqual(shares["byte.l2_link"], 0.5)

    def test_stores_of_a_warm_call_are_what_left(self):
        shares = limiter.memory_shares([self.LAUNCH], self.RATES, False)
        self.assertAlmostEqual(shares["dram"], 0.5 + 0.0625 + 0.25 * (2 / 3.2 - 0.5))

    def test_a_level_without_a_rate_goes_by_its_peak(self):
        no_dram = {name: rate for name, rate in self.RATES.items() if name != "byte.dram_copy"}
        self.assertNotIn("dram", limiter.memory_shares([self.LAUNCH], no_dram, True))
        found = counters.counters_of([{**self.LAUNCH, "name": "forward"}], {"layer1": {}}, {})
        self.assertEqual(found["busy"], {"dram": 0.5, "byte.l2": 0.9})
        self.assertEqual(found["limiter"], "byte.l2")
        self.assertEqual(found["of_peaks"], {})

    def test_both_verdicts_are_kept(self):
        found = counters.counters_of([{**self.LAUNCH, "name": "forward"}], {"layer1": {}},
                                     self.RATES)
        self.assertEqual((found["limiter"], found["limiter_of_peaks"]), ("dram", "byte.l2"))
        self.assertEqual(found["of_peaks"], {"dram": 0.5, "byte.l2": 0.9})

    def test_only_rates_of_probes_count(self):
        state = {"rates": {"byte.l2": {"value": 8e12, "source": "probe: sweep"},
                           "byte.dram_read": {"value": 4e12, "source": "a datasheet"}}}
        self.assertEqual(counters.rates_of(state), {"byte.l2": 8e12})


class Summary(unittest.TestCase):
    def test_a_call_s_launches_together(self):
        again = [line.replace('"0",', '"2",', 1).replace('"1",', '"3",', 1)
                 for line in RECORDED.splitlines() if line.startswith(('"0",', '"1",'))]
        launches = profiler.parse(RECORDED + "\n".join(again))
        found = counters.counters_of(launches, {"layer1": {"dram": 1e-6}})
        self.assertEqual(found["calls"], 2)
        self.assertAlmostEqual(found["seconds"], 32e-6)
        self.assertAlmostEqual(found["totals"]["dram_read_bytes"], 33555432)
        self.assertEqual([x["name"] for x in found["launches"]], ["forward", "merge"])
        self.assertEqual(found["launches"][0]["ctas"], 264)
        self.assertEqual(found["limiter"], "latency")  # 0.55 of the issue slots


class Capacity(unittest.TestCase):
    def test_the_most_tokens_are_found_to_a_thousandth(self):
        for room in (1, 1000, 10 ** 7):
            found = capacity.most_tokens(room, lambda tokens: tokens <= 1234567)
            self.assertLessEqual(found, 1234567)
            self.assertGreater(found, 1234567 * 0.998)
            self.assertEqual(found % capacity.PAGE, 0)


FAKE_NCU = """#!/bin/sh
[ "$1" = --version ] && echo "Version 2025.3.1.0" && exit 0
while [ "$1" != --log-file ]; do shift; done
cp "{recorded}" "$2"
echo "$@" >"{seen}"
"""
FAKE_PROGRAM = """#!/bin/sh
echo '{"kernel":"gqa","rung":{"track":"decode"}}'
"""


@unittest.skipUnless(Path(LIBRARY).exists(), "needs the built library")
class Rows(unittest.TestCase):
    def script(self, name, text):
        path = Path(self.folder) / name
        path.write_text(text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.receipts, self.seen = Path(self.folder) / "rows.jsonl", Path(self.folder) / "seen"
        self.ncu = self.script("ncu", FAKE_NCU.format(recorded=HERE / "ncu_gqa.csv", seen=self.seen))
        self.program = self.script("raceline", FAKE_PROGRAM)

    def measured(self, *shapes, kernel="gqa"):
        """Ids of measurements of a kernel on these shapes of the suite ladder, newly written."""
        library = Library(LIBRARY, str(self.receipts))
        good = {"passed": True, "relative_rms": 0, "worst": 0, "bound": 1, "cases": 1}
        taken = {name: 1e-5 for name in ("seconds_median", "seconds_low", "seconds_high",
                                         "seconds_call", "sm_clock_hz", "power_w")}
        ids = []
        for shape in shapes:
            about = {**library.predict(shape, "h200", kernel), "suite": "ladder"}
            prediction = library.append("prediction", about)
            content = {k: v for k, v in about.items() if k != "prediction"}
            ids.append(library.append("measurement", {
                **content, "prediction_id": prediction["id"], "correctness": good,
                "measurement": {**taken, "samples": 3}})["id"])
        library.close()
        return ids

    def profile(self, *arguments):
        """Status and what was said."""
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = counters.main(["--receipts", str(self.receipts), "--library", LIBRARY,
                                    "--program", self.program, "--ncu", self.ncu, *arguments])
        return status, said.getvalue()

    def counted(self):
        """Ids of the measurements that have counters."""
        rows = [json.loads(line) for line in self.receipts.read_text().splitlines()]
        return [row["measurement_id"] for row in rows if row["kind"] == "counters"]

    def test_counters_are_attached_to_the_measurement_they_are_about(self):
        ids = self.measured("h=32/8,q=1,k=8192,d=128,dtype=fp16")
        status, said = self.profile()
        self.assertEqual(status, 0)
        row = json.loads(self.receipts.read_text().splitlines()[-1])
        self.assertEqual(row["kind"], "counters")
        self.assertEqual(row["counters"]["limiter"], "latency")
        self.assertEqual(self.counted(), ids)
        self.assertIn("gqa h=32/8,q=1,k=8192,d=128,dtype=fp16: latency", said)
        self.assertIn("check --device cuda --kernel gqa --tile waves=", self.seen.read_text())
        # A second run finds nothing left to do, and says so by its status.
        self.assertEqual(self.profile()[0], 1)

    def test_only_the_shapes_that_were_asked_for(self):
        first, second = "h=32/8,q=1,k=8192,d=128,dtype=fp16", "b=2,h=32/8,q=1,k=8192,d=128,dtype=fp16"
        ids = self.measured(first, second)
        self.assertEqual(self.profile("--shape", second)[0], 0)
        self.assertEqual(self.counted(), ids[1:])
        self.assertEqual(self.profile("--suite", "ladder")[0], 0)
        self.assertEqual(set(self.counted()), set(ids))
        self.assertEqual(self.profile("--suite", "from-scratch")[0], 1)

    def test_a_row_of_an_operation_says_which_it_is(self):
        shape = "op=relu,n=64x4096,dtype=bf16"
        self.measured(shape, kernel="rows_cuda")
        self.assertEqual(self.profile("--shape", shape)[0], 0)
        row = json.loads(self.receipts.read_text().splitlines()[-1])
        self.assertEqual((row["kind"], row["op"], row["pass"]), ("counters", "rows", "forward"))

    def test_a_shape_of_no_suite_keeps_the_text_it_was_asked_by(self):
        shape = "b=3,h=32/8,q=1,k=999,d=128,dtype=fp16"
        ids = self.measured(shape)
        status, said = self.profile("--shape", shape)
        self.assertEqual((status, self.counted()), (0, ids))
        self.assertIn(f"gqa {shape}: latency", said)


if __name__ == "__main__":
    unittest.main()
