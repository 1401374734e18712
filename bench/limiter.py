# SPDX-License-Identifier: Apache-2.0
"""Which hardware counters are read, and the rule by which they name a limiter. The thresholds
stood here before any rung was profiled; the model has the same two (src/model/limiter_share.hpp).

Busy is the share of a launch's time in which a resource does all that it can. Of the units of an SM
that is the counters' percent of the sustained peak over the elapsed time, so that SMs without work
count as idle. Of a level of memory it is what passed, as counted, over what this device's probes
reach there; where nobody measured the device, the counters' percent again. Names are those of the
model's resources (src/device/device.hpp) and terms (docs/model.md).

Why memory goes by amounts: Nsight Compute's percent for the L2 of a Hopper is the busiest of many
units, and in a stream from DRAM that is the link between the halves of the L2, by the clocks in
which anything passes. A copy at 82 % of DRAM's peak kept it 87 % busy
(receipts/h200/logs/2026-11-27-l2-counters.txt), with four fifths of the traffic that the link
carries at most. DRAM's own peak is one that no probe reaches. Rows before 2026-11-27 were judged by
percents alone; later ones keep that verdict as `limiter_of_peaks`."""

# Shares are of the time in which the SM that holds a CTA longest does. The rest is the launch, which
# under the profiler takes some 2 us, several times what it takes in a graph; the model leaves it out
# too (src/model/schedule.cpp, limiter_of). Rows from before 2026-11-30 were judged by shares of all
# time, and where they have no `started` nobody can tell the launch.
#
# A resource at this share of its peak or more is the limiter: the busiest one, the first of equals.
BUSY = 0.60
# Without one: SMs that hold no CTA for more than this share are the limiter (the model's `tail`: not
# enough CTAs), else warps that wait are (its `latency`).
IDLE = 0.40

PEAK = ".avg.pct_of_peak_sustained_elapsed"
# By resource: counters that tell how busy it is, the first one that this profiler knows.
PIPES = {
    "dram": ["dram__throughput", "gpu__dram_throughput"],
    "byte.l2": ["lts__throughput", "lts__t_sectors"],
    # Passes of the L1's data pipe for loads and stores, global ones included, as rungs count them.
    "byte.smem_lsu": ["l1tex__data_pipe_lsu_wavefronts"],
    "tensor": ["sm__pipe_tensor_cycles_active", "sm__inst_executed_pipe_tensor"],
    "flop.fma.fp32": ["sm__pipe_fma_cycles_active", "sm__inst_executed_pipe_fma"],
    "op.ex2": ["sm__inst_executed_pipe_xu"],
    "op.issue": ["sm__inst_executed", "sm__inst_issued"],
}
# Reads of shared memory's banks by anyone: what the data pipe above did not do are operands that
# the matrix engine reads itself. A lower bound, so that it is never named by mistake.
BANKS = "l1tex__data_bank_reads" + PEAK
DATA_PIPE = "l1tex__data_pipe_lsu_wavefronts" + PEAK
RESIDENT = "sm__cycles_active" + PEAK  # time in which an SM holds a CTA
LONGEST_RESIDENT = "sm__cycles_active.max"  # that of the SM that holds one longest, and
ELAPSED = "sm__cycles_elapsed.max"          # all time, both in clocks
DURATION = "gpu__time_duration.sum"

# What is added up over a call's launches. Stores are what SMs sent to the L2. ncu empties the caches
# before a launch, so that up to an L2 of them has not reached DRAM when the launch ends. In a timed
# loop of cold calls that traffic falls into the next one.
TOTALS = {
    "dram_read_bytes": "dram__bytes_read.sum",
    "dram_write_bytes": "dram__bytes_write.sum",
    "stored_bytes": "l1tex__m_l1tex2xbar_write_bytes.sum",
    "l2_bytes": "lts__t_bytes.sum",
    "link_sectors": "lts__t_sectors_srcunit_ltcfabric.sum",
    "bank_conflicts_load": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "bank_conflicts_store": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "shared_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum",
    "warp_instructions": "smsp__inst_executed.sum",
}
# What is kept of each launch.
LAUNCH = {
    "ctas": "launch__grid_size",
    "threads": "launch__block_size",
    "waves": "launch__waves_per_multiprocessor",
    "occupancy_percent": "sm__warps_active.avg.pct_of_peak_sustained_active",
}
# Warps that wait for each reason, per issue slot in use.
STALLS = {reason: f"smsp__average_warps_issue_stalled_{reason}_per_issue_active.ratio"
          for reason in ("long_scoreboard", "short_scoreboard", "barrier", "wait", "mio_throttle",
                         "math_pipe_throttle", "lg_throttle", "gmma", "no_instruction")}


def metrics():
    """All counters to ask for."""
    pipes = [name + PEAK for names in PIPES.values() for name in names]
    return [DURATION, *pipes, BANKS, RESIDENT, LONGEST_RESIDENT, ELAPSED, *TOTALS.values(),
            *LAUNCH.values(), *STALLS.values()]


def weighted(launches, metric):
    """Mean of a counter over launches, weighted by their durations; None where none has it."""
    known = [(x[DURATION], x[metric]) for x in launches
             if x.get(metric) is not None and x.get(DURATION)]
    seconds = sum(duration for duration, _ in known)
    return sum(duration * value for duration, value in known) / seconds if known else None


SECTOR = 32  # bytes


def totals(launches):
    """Sums over launches, by name; those that no launch has are left out."""
    return {name: sum(x.get(metric) or 0 for x in launches) for name, metric in TOTALS.items()
            if any(x.get(metric) is not None for x in launches)}


def dram_seconds(read, written, rates):
    """What DRAM takes for bytes read and written, as the model has it: reads and writes in turns go
    at the rate of a copy."""
    seconds = read / rates["byte.dram_read"] + written / rates["byte.dram_write"]
    turning = (2 / rates["byte.dram_copy"] - 1 / rates["byte.dram_read"]
               - 1 / rates["byte.dram_write"])
    return seconds + min(read, written) * max(0.0, turning)


def memory_shares(launches, rates, cold):
    """{level of memory: share of the launches' time that what passed takes at the probes' rates}.
    `rates`: byte/s by the model's ids; a level without a rate or a counter is left out. `cold`:
    stores are taken to reach DRAM, whether or not they had when the launch ended."""
    seconds = sum(x[DURATION] for x in launches)
    moved = totals(launches)
    shares = {}
    if {"dram_read_bytes", "dram_write_bytes"} <= set(moved) and \
            {"byte.dram_read", "byte.dram_write", "byte.dram_copy"} <= set(rates):
        stored = moved.get("stored_bytes", 0) if cold else 0
        written = max(moved["dram_write_bytes"], stored)
        shares["dram"] = dram_seconds(moved["dram_read_bytes"], written, rates) / seconds
    if "l2_bytes" in moved and "byte.l2" in rates:
        shares["byte.l2"] = moved["l2_bytes"] / rates["byte.l2"] / seconds
    if "link_sectors" in moved and "byte.l2_link" in rates:
        shares["byte.l2_link"] = moved["link_sectors"] * SECTOR / rates["byte.l2_link"] / seconds
    return shares


def busy_shares(launches):
    """{resource: share of its peak} over a call's launches; resources without a counter left out."""
    shares = {}
    for resource, names in PIPES.items():
        for name in names:
            percent = weighted(launches, name + PEAK)
            if percent is not None:
                shares[resource] = percent / 100
                break
    banks, pipe = weighted(launches, BANKS), weighted(launches, DATA_PIPE)
    if banks is not None and pipe is not None:
        shares["byte.smem_mma"] = max(0.0, banks - pipe) / 100
    return shares


def resident_share(launches):
    """Share of the time in which an SM holds a CTA, in the mean of all SMs; None without a
    counter."""
    percent = weighted(launches, RESIDENT)
    return None if percent is None else percent / 100


def started_share(launches):
    """Share of the time in which the SM that holds a CTA longest does: the rest is launches that
    start and end. None where this profiler does not count it."""
    if any(not x.get(ELAPSED) or x.get(LONGEST_RESIDENT) is None for x in launches):
        return None
    seconds = sum(x[DURATION] for x in launches)
    return sum(x[DURATION] * x[LONGEST_RESIDENT] / x[ELAPSED] for x in launches) / seconds


def name_limiter(shares, resident, started=None):
    """The limiter that shares of peaks name, and of the time in which SMs hold a CTA: in the mean
    (`resident`), and the one that does longest (`started`, all of it where nobody counted)."""
    if not shares:
        raise ValueError("no counter tells how busy any resource was")
    busiest = max(shares, key=shares.get)
    if shares[busiest] >= BUSY * (started or 1):
        return busiest
    idle = 0 if resident is None else 1 - resident / (started or 1)
    return "tail" if idle > IDLE else "latency"


def as_model_id(resource, predicted):
    """The model's id of a resource: it knows the matrix engine by instruction and type. `predicted`
    are the ids of the prediction."""
    if resource != "tensor":
        return resource
    engines = [name for name in predicted if name.startswith(("flop.wgmma.", "flop.mma."))]
    return engines[0] if engines else "flop.mma.fp16"
