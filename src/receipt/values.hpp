// SPDX-License-Identifier: Apache-2.0
// What rows of a receipt hold, as plain values that know no JSON: predictions, measurements,
// verdicts, ceilings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/statistics.hpp"

namespace raceline {

struct DeviceName {
    std::string id;  ///< file name in devices/
    std::string name, driver;
};

/// How the call is launched; picks the floor. "stream", "graph" (GPU), "parallel" (CPU).
struct LaunchCase {
    bool cold = true;
    std::string launch_path = "stream";
    int threads = 0;  ///< CPU threads; 0: all
    /// "sustained": call upon call, so that power decides the clock; "alone": a GPU rests between
    /// samples. A product differs by a tenth between them. Rows of schema 1 may lack it.
    std::string regime = "sustained";
};

/// Layer 1: time per resource = work / ceiling; the largest is the bound and names the limiter.
struct Roofline {
    std::map<std::string, double> seconds;  ///< by resource; all that a row has
    std::string limiter;
    double bound_seconds = 0;
    double arithmetic_intensity = 0;  ///< flops / DRAM bytes
    double ridge = 0;                 ///< of the engine that the kernel uses, flop/byte
    double ridge_best = 0;            ///< of the best engine on the chip, flop/byte
};

/// The least time that a problem takes on a device, whatever kernel or library solves it
/// (model/speed_of_light.hpp).
struct SpeedOfLight {
    double seconds = 0;               ///< the largest of the next three
    double memory_seconds = 0;        ///< compulsory bytes at the DRAM ceilings; 0: none is known
    double compute_seconds = 0;       ///< operations on `engine`; 0: none is known
    double launch_seconds = 0;        ///< floor of one launch; 0: not known
    std::string limiter;              ///< "dram", `engine` or "launch"; empty: nothing is known
    std::string engine;               ///< resource id of the fastest that may multiply these types
    double arithmetic_intensity = 0;  ///< operations / compulsory bytes, flop/byte
    double ridge = 0;                 ///< of `engine`, flop/byte
    double bytes_read = 0;            ///< compulsory; 0: left out
    double bytes_written = 0;         ///< as bytes_read
    std::string rates;  ///< where the limiter's rate comes from (device/rate_origin.hpp)

    bool operator==(const SpeedOfLight&) const = default;
};

/// What of a prediction was fitted to measurements of the kernel itself.
struct Calibrated {
    int count = 0;            ///< constants of the kernel's clocks and of the model that were
    std::string hash;         ///< SHA-256 of their names and values; empty if there are none
    int errors = 0;           ///< committed errors that expected_seconds was taken from
    std::string errors_hash;  ///< SHA-256 of these, as written; empty if there are none
    /// It was asked for without all that: stand-ins took the places of calibrated constants, and no
    /// errors were taken out.
    bool left_out = false;

    bool operator==(const Calibrated&) const = default;
};

struct Prediction {
    /// The model's own, layer 2: all errors, bands and goals are of it.
    double seconds = 0;
    /// Less what three of four committed errors agree on; without any the same as seconds. Nothing
    /// is judged by it.
    double expected_seconds = 0;
    /// seconds with what a probe, a manual or the code says in the place of each calibrated
    /// constant; 0: not worked out.
    double uncalibrated_seconds = 0;
    /// The kernel's work over the datasheet's ceilings of the device; 0: it has none.
    double datasheet_seconds = 0;
    Calibrated calibrated;
    std::string limiter;
    Roofline layer1;
    std::vector<std::pair<std::string, double>> layer2;  ///< terms in order; they sum to seconds
    std::optional<Interval> band;
    std::string rates_id;
    double sm_clock_hz = 0;
    std::string model_hash;  ///< SHA-256 of src/model and the kernel's record, from the build
};

/// One timed case.
struct Measurement {
    double seconds_median = 0;
    double seconds_low = 0;  ///< 95 % interval of the median
    double seconds_high = 0;
    double seconds_call = 0;  ///< what a host pays for one call; on a CPU = seconds_median
    int samples = 0;          ///< that count
    int disturbed = 0;  ///< that were dropped: something else had the cores, or slowed the device
    /// The interval is wider than 10 % of the median, or too few samples were left: no accuracy,
    /// band or comparison may use this. Schema 1 may lack it; the interval decides then.
    bool unsettled = false;
    std::string disturbance;  ///< what disturbed it, in a sentence; empty: nothing
    double sm_clock_hz = 0;   ///< median over the samples; 0: not known
    double power_w = 0;       ///< median over the samples; 0: not known
    bool settled = false;
    bool throttled = false;
};
/// The widest interval of a settled row, as a part of its median.
inline constexpr double settled_width = 0.1;
bool is_wide(const Measurement& measurement);

/// The gate's verdict. Errors that are not finite are null in a row.
struct Correctness {
    bool passed = false;
    double relative_rms = 0;  ///< ‖out − ref‖ / ‖ref‖ over the checked rows
    double worst = 0;         ///< largest element error / RMS of the reference output
    double aligned = 0;       ///< errors of rows that share a KV head along one key's value
    double bound = 0;         ///< on relative_rms
    double bound_worst = 0;   ///< on worst
    double bound_aligned = 0;
    double lse_worst = 0;    ///< largest LSE error, absolute, natural log; 0 if not asked for
    std::int64_t cases = 0;  ///< rows checked
    std::uint64_t seed = 0;  ///< of the inputs; 0: they were somebody else's
    std::vector<std::string> draws;  ///< kinds of inputs that were judged (workload/draw.hpp)
    std::string why;                 ///< empty if passed, else the first reason in a sentence
};

/// One measured ceiling.
struct Ceiling {
    std::string resource;  ///< id as in Device::rates
    double value = 0;
    std::string unit;     ///< flop/s, op/s, byte/s, s
    double clock_hz = 0;  ///< measured during the probe
    double power_w = 0;   ///< 0: not known
    std::string method;   ///< how, in a sentence
    double limit = 0;     ///< units × rate per clock × clock, 0 where there is none
};

}  // namespace raceline
