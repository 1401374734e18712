// SPDX-License-Identifier: Apache-2.0
#include "run/ceiling_run.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <unistd.h>

#include "probe/until_consistent.hpp"
#include "receipt/rows.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"

namespace raceline {

Device live_device(const std::string& name) {
    auto cuda = live_cuda();
    const bool any_cuda = name.empty() || same_word(name, "cuda");
    const std::string id = any_cuda ? (cuda ? cuda->id : "") : device_called(name);
    if (id == "cpu" || (name.empty() && !cuda)) {
        return live_cpu();
    }
    if (cuda && id == cuda->id) {
        return *std::move(cuda);
    }
    fail(Status::no_device, "device '{}' is not on this machine: only a live one can be measured",
         name);
}

std::vector<Ceiling> probe_ceilings(const Device& device, int threads,
                                    const ProbeProgress& progress, ProbeEffort effort) {
    require_logical_cpus(device, threads, "threads");
    const std::vector<Ceiling> ceilings = probe_until_consistent([&] {
        return device.kind == DeviceKind::cpu ? probe_cpu(device, threads, progress, effort)
                                              : probe_cuda(device, progress, effort);
    });
    for (const Ceiling& ceiling : ceilings) {
        check_ceiling(ceiling);
    }
    return ceilings;
}

void put_ceilings(const Device& device, std::span<const Ceiling> ceilings, const RowSink& sink,
                  const SeenRow& seen) {
    for (const Ceiling& ceiling : ceilings) {
        // Each row says how many there are, so that one that is missing later shows.
        const CeilingRow typed{.suite = "",
                               .device = device_name(device),
                               .ceiling = ceiling,
                               .more = Json{{"of", ceilings.size()}}};
        const Json content = row_to_json(typed);
        const Json row = sink.put("ceiling", "", content);
        if (seen) {
            seen(content, row);
        }
    }
}

namespace {

// Beside the file whose place it takes, so that it can be moved there in one step.
std::string passing_path(const Device& device) {
    required_cache_folder();
    return fmt::format("{}.{}", ceilings_cache_path(device), getpid());
}

}  // namespace

void require_cache(const Device& device) {
    const std::string trial = passing_path(device);
    {
        const ReceiptWriter writer(trial);
    }
    std::filesystem::remove(trial);
}

std::string keep_ceilings(const Device& device, std::span<const Ceiling> ceilings,
                          const RowContext& context, const SeenRow& seen) {
    const std::string path = ceilings_cache_path(device);
    const std::string fresh = passing_path(device);
    std::optional<ReceiptWriter> cache(fresh);
    put_ceilings(device, ceilings, {.context = &context, .writer = &*cache, .emit = {}}, seen);
    cache.reset();
    std::filesystem::rename(fresh, path);
    return path;
}

}  // namespace raceline
