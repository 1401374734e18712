// SPDX-License-Identifier: Apache-2.0
// What a machine can do: its rates and its sizes. Plain data, no JSON here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace raceline {

enum class DeviceKind : std::int32_t { cpu, cuda, rocm };

/// A number with its provenance. `value` is in SI units of the id's kind: flop/s, op/s, byte/s for
/// rates; seconds for ids that start with "latency." or "floor."; bytes for "size.".
struct Rate {
    double value = 0;
    std::string source;   ///< "datasheet: …" or "probe: …"
    double clock_hz = 0;  ///< the unit clock at which the value holds; 0: does not depend on it
    std::string note;     ///< dense/sparse, accumulator, burst/sustained
    /// What one unit does a clock: units × this × clock is the arithmetic limit. 0: not clocked.
    double per_clock_per_unit = 0;
};

/// What a board draws, for the clock that its limit leaves (src/device/power.hpp). Joules are those
/// at the highest clock; they fall with the voltage squared.
struct Power {
    double limit_w = 0;        ///< 0: not known, and the clock is then not a result
    double idle_w = 0;         ///< at the highest clock, without work
    double voltage_slope = 0;  ///< relative fall of the voltage over that of the clock
    /// Joules a flop, an operation or a byte, by resource id. Those of DRAM with all that a byte
    /// passes on its way to an SM.
    std::map<std::string, double, std::less<>> joules;
    std::string source;
    /// False where probes have seen the clock under lasting products: the line between it and the
    /// highest then stands, with which constants of that board's engines were fitted, unless the
    /// watts leave less than its lower end.
    bool decides = true;

    [[nodiscard]] bool known() const { return limit_w > 0 && idle_w > 0 && !joules.empty(); }
    [[nodiscard]] bool sets_clock() const { return known() && decides; }
};

/// Resource ids (also keys of Counts::work, of devices/*.json and of ceilings):
///   flop.wgmma.{bf16,fp16,e4m3,tf32}  flop.mma.{bf16,fp16,tf32,e4m3}  flop.fma.{fp32,fp64,fp16}
///   flop.tcgen05.* (Blackwell)  flop.mfma.* (AMD); matrix rates are dense and accumulate in fp32,
///   "<id>_acc16" in fp16 where that is faster
///   op.issue (GPU, thread-level instruction slots: a warp's instruction takes 32, whatever it
///   does) flop.dot.bf16, flop.amx.bf16 (CPU)  op.ex2 (GPU)  op.exp (CPU, fp32 exponentials)
///   op.simd (CPU, fp32 lane operations other than FMA)  byte.dram_read  byte.dram_write
///   byte.dram_copy  byte.llc (CPU) byte.l2  byte.l1 (CPU loads)  byte.smem_lsu  byte.smem_mma
/// and times, in seconds:
///   floor.launch_stream  floor.launch_graph  floor.parallel_region  latency.dram  latency.l2
///   floor.cta (start and drain of a CTA)  latency.{dram,l2}.loaded (a CTA's load, all units
///   loading)
/// Of a GPU whose L2 is in two halves, each serving the SMs beside it:
///   byte.l2_link (what passes between the halves)  latency.l2.far (a line that lies in the other
///   half alone, s)  size.l2.half (what one half serves, bytes)
/// A rate is that of the whole device with all units busy. "<id>.unit" is what a single unit (SM or
/// core) reaches alone, where it differs from rate / units (DRAM above all).
struct Device {
    std::string id;    ///< file name in devices/ without .json
    std::string name;  ///< as the vendor writes it
    std::string driver;
    DeviceKind kind = DeviceKind::cpu;
    int year = 0;
    int compute_capability = 0;     ///< 90 for sm_90; 0 elsewhere
    int units = 1;                  ///< SMs, CUs or cores (threads in use on a CPU)
    double clock_hz = 0;            ///< boost or as probed
    double clock_max_hz = 0;        ///< what boards may run at beyond the stated boost; 0: that
    double sustained_clock_hz = 0;  ///< under matrix load, if known
    int simd_bits = 0;              ///< CPU: widest vector in use
    bool has_bf16_dot = false;      ///< CPU: AVX-512 BF16 or better
    bool has_bf16_tiles = false;    ///< CPU: AMX, and this process may use it
    std::int64_t memory_bytes = 0;
    std::int64_t l1_bytes = 0;   ///< CPU: data cache of a core
    std::int64_t l2_bytes = 0;   ///< GPU: whole; CPU: of a core
    std::int64_t llc_bytes = 0;  ///< CPU: last level, whole; GPU: = l2_bytes
    std::int64_t smem_bytes_per_unit = 0;
    std::int64_t smem_bytes_per_cta = 0;
    int registers_per_unit = 0;
    int threads_per_unit = 0;
    int ctas_per_unit = 0;
    double link_bytes_per_second = 0;  ///< NVLink, Infinity Fabric or PCIe, both directions
    Power power;
    double process_energy = 0;  ///< joules of an operation beside TSMC 4N; 0: not known
    double memory_energy = 0;   ///< joules a byte of the memory chips and their interface
    bool live = false;          ///< found on this machine by probing

    std::map<std::string, Rate, std::less<>> rates;
    std::string rates_id;  ///< hash of `rates` and where they come from, as written in receipts

    /// The rate, or nothing if this device has no such resource.
    [[nodiscard]] std::optional<double> find(std::string_view resource) const;
    /// The rate; throws Error(unsupported) naming device and resource if there is none.
    [[nodiscard]] double rate(std::string_view resource) const;
};

/// Whether the resource of that id is a time, not a rate.
constexpr bool is_time_id(std::string_view resource) {
    return resource.starts_with("floor.") || resource.starts_with("latency.");
}

/// Whether it is a size, not a rate.
constexpr bool is_size_id(std::string_view resource) {
    return resource.starts_with("size.");
}

/// The same device with only `units` of its cores in use (CPU threads). Compute and private caches
/// scale with the cores; shared resources keep their rate up to what that many cores can draw
/// (`<id>.unit` each, where measured). More than it has: rates of a live device stay, those of a
/// datasheet scale on. Throws Error(invalid_argument) below 1.
Device restrict_units(Device device, int units);

}  // namespace raceline
