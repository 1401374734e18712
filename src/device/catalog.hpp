// SPDX-License-Identifier: Apache-2.0
// Where devices come from: the compiled-in devices/*.json, the machine itself, and measured
// ceilings laid over either.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "receipt/values.hpp"
#include "support/json.hpp"

namespace raceline {

std::vector<std::string> device_ids();  ///< sorted names of devices/*.json, compiled in

/// The id of the file in devices/ that lists `runtime_name` ("NVIDIA H200"); nothing if none does.
/// Exact names only: an "NVIDIA H200 NVL" has other clocks and must not pass for an H200.
std::optional<std::string> device_id_of(std::string_view runtime_name);

/// The id that somebody means by `name`: an id, a vendor's name or one that a driver reports, in
/// capital letters or small ones, with or without hyphens and spaces ("H200", "nvidia h200",
/// "RTX 4090", "NVIDIA H100 80GB HBM3"). Throws Error(no_device)
/// with the nearest one, or with all of a family of which it may be any ("a100").
std::string device_called(std::string_view name);

/// Datasheet device. Unknown ids throw Error(no_device) with the nearest one.
Device datasheet_device(std::string_view id);
/// Reads one file of devices/ (form: docs/devices.md). Throws Error(corrupt) naming the member.
Device device_from_json(const Json& object, std::string_view where);

/// This machine's CPU by cpuid and sysfs: name, cores this process may run on, caches, SIMD, id
/// "cpu". Rates come from the generic CPU's datasheet formula until ceilings are laid over it.
Device live_cpu();

/// Refuses (throws Error(invalid_argument) naming `option`, its value and the limit) more threads
/// than this process has logical CPUs, if `device` is this machine's CPU: beyond them threads only
/// take turns, and no probe and no model holds for that. Other devices have no limit here.
void require_logical_cpus(const Device& device, int threads, std::string_view option);

/// The first CUDA device through the runtime, matched to a file in devices/ by name; nothing if
/// there is no driver, no device, or raceline was built without CUDA.
std::optional<Device> live_cuda();

/// Order of precedence: `rates_file` if given; the user's cache if measured on this very device;
/// committed receipts/<device>/ceilings.jsonl (compiled in); datasheet. Fills rates and rates_id.
void apply_rates(Device& device, const std::optional<std::string>& rates_file);
/// Committed receipts/<device>/ceilings.jsonl or datasheet only, so that the choice of a tile is
/// the same everywhere. Fills rates and rates_id.
void apply_committed_rates(Device& device);
/// datasheet_device(id) with committed rates: made once in a process, since neither changes.
const Device& committed_device(std::string_view id);

/// One resource before and after ceilings were laid over it.
struct RateComparison {
    std::string resource;
    std::optional<Rate> datasheet;
    std::optional<Rate> measured;
};
/// For tables: `before` as it came from the catalog, `after` the same with rates applied.
std::vector<RateComparison> compare_rates(const Device& before, const Device& after);

/// First 16 hex digits of SHA-256 over `origin` and the sorted rates.
std::string rates_id_of(const Device& device, std::string_view origin);

Ceiling ceiling_from_json(const Json& object);

/// Refuses (throws Error(internal)) a ceiling more than 3 % above its arithmetic limit, in another
/// unit than its resource has, or of a size that no machine's has.
void check_ceiling(const Ceiling& ceiling);

/// Whether a ceiling is more than 3 % above units x rate per clock x clock: the clock was read in
/// another moment than the rate, or the probe is wrong.
bool is_above_limit(const Ceiling& ceiling);

/// Fingerprint of the very machine (name, cores, driver; memory size) that a cache entry must
/// match.
std::string device_fingerprint(const Device& device);
/// Empty, or what is wrong with the file of ceilings_cache_path, in a clause: it cannot be read, a
/// row was changed or cut, it holds no ceiling of this device, or ceilings that are over their
/// limits or contradict each other. apply_rates goes on as if there were none.
std::string cache_damage(const Device& device);
/// $XDG_CACHE_HOME/raceline, ~/.cache/raceline without the variable; empty where neither
/// XDG_CACHE_HOME nor HOME is an absolute path: then nothing is kept and nothing is read.
std::string cache_folder();
/// The same for what is to be written; throws Error(io) where there is none.
std::string required_cache_folder();
/// ceilings-<fingerprint>.jsonl in it, or empty
std::string ceilings_cache_path(const Device& device);

}  // namespace raceline
