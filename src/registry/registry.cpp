// SPDX-License-Identifier: Apache-2.0
#include "registry/registry.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <type_traits>
#include <vector>

#include "model/occupancy.hpp"
#include "model/rates.hpp"
#include "registry/code_hashes.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"

namespace raceline {

/// What the registry holds of a kernel's launch.
template <class Args>
using HeldLaunch =
    std::conditional_t<std::is_same_v<Args, OperationArgs>, OperationLaunchFn, LaunchFn>;

/// A kernel that takes no tree gets the part of a call that is without one.
using PlainLaunchFn = void (*)(const AttentionArgs&, int, const Device&, void*, void*);
template <PlainLaunchFn its>
void launch_plain(const AttentionCall& call, int tile, const Device& device, void* workspace,
                  void* stream) {
    its(call, tile, device, workspace, stream);
}
template <auto its>
constexpr auto held() {
    if constexpr (std::is_same_v<std::remove_cv_t<decltype(its)>, PlainLaunchFn>) {
        return &launch_plain<its>;
    } else {
        return its;
    }
}

/// Null where it is not compiled: then nothing refers to it, and it need not link.
template <bool compiled, class Held, auto its>
[[maybe_unused]] Held launch_if() {
    if constexpr (compiled) {
        return held<its>();
    } else {
        return nullptr;
    }
}

}  // namespace raceline

// One declaration a folder. `launch` is declared for all and referenced only where it is compiled,
// so that a forgotten one does not link and a missing toolkit leaves it null.
#define X(name, ladder, has_launch, Args, lines, hash)          \
    namespace raceline::kernels::name {                         \
    Kernel kernel();                                            \
    void launch(const Args&, int, const Device&, void*, void*); \
    }
#include "kernels.inc"
#undef X

namespace raceline {

std::string Kernel::tile_text(int index) const {
    std::string text;
    for (const auto& [field, value] : tile(index)) {
        text += (text.empty() ? "" : ",") + std::string(field) + "=" + std::to_string(value);
    }
    return text;
}

int Kernel::find_tile(const TileFields& fields) const {
    TileFields wanted = fields;
    for (auto& [field, value] : wanted) {
        field = field_name(field);
    }
    std::sort(wanted.begin(), wanted.end());
    const auto names_it = [&](std::string_view field) {
        return std::any_of(wanted.begin(), wanted.end(),
                           [&](const auto& one) { return one.first == field; });
    };
    for (int index = 0; index < tile_count(); ++index) {
        TileFields own = tile(index);
        std::erase_if(
            own, [&](const auto& field) { return field.second == 0 && !names_it(field.first); });
        std::sort(own.begin(), own.end());
        if (own == wanted) {
            return index;
        }
    }
    return -1;
}

std::string_view Kernel::field_name(std::string_view field) const {
    const auto found = std::find_if(older_fields_.begin(), older_fields_.end(),
                                    [&](const auto& older) { return older.first == field; });
    return found == older_fields_.end() ? field : found->second;
}

bool Kernel::was_called(std::string_view other) const {
    return name == other || std::find(formerly.begin(), formerly.end(), other) != formerly.end();
}

namespace {

constexpr std::string_view host = "host:";
constexpr std::string_view architecture = "sm_";

// A tree may have kernels of one signature alone.
[[maybe_unused]] void take_launch(Kernel& kernel, LaunchFn launch) {
    kernel.launch = launch;
}
[[maybe_unused]] void take_launch(Kernel& kernel, OperationLaunchFn launch) {
    kernel.launch_operation = launch;
}

/// "attention", "attention's backward pass"
std::string what(std::string_view op, std::string_view pass) {
    return pass == Workload{}.pass ? std::string(op) : fmt::format("{}'s {} pass", op, pass);
}

int architecture_of(std::string_view hash) {
    const std::string_view digits = hash.substr(architecture.size(), hash.find(':'));
    int number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
}

}  // namespace

std::vector<Counts> Kernel::counts(const Workload& w, int tile, const Device& d) const {
    if (w.tokens_q() == 0) {
        Counts nothing;
        nothing.launch = "main";
        return {nothing};
    }
    return erased_.counts(record_, w, tile, d);
}

std::string Kernel::computes_other(const Workload& w) const {
    return op == w.op && pass == w.pass
               ? std::string()
               : fmt::format("it computes {}, not {}", what(op, pass), what(w.op, w.pass));
}

std::vector<std::string_view> code_hashes_of(const Kernel& kernel) {
    std::vector<std::string_view> hashes;
    for (const CodeHash& code : code_hashes()) {
        if (code.kernel == kernel.name &&
            code.hash.starts_with(kernel.engine == Engine::cpu ? host : architecture)) {
            hashes.push_back(code.hash);
        }
    }
    return hashes;
}

std::string_view code_hash_of(const Kernel& kernel, const Device& device) {
    std::string_view best;
    for (const std::string_view hash : code_hashes_of(kernel)) {
        if (kernel.engine == Engine::cpu) {
            return hash;
        }
        const int sm = architecture_of(hash);
        const bool runs =
            sm <= device.compute_capability && sm / 10 == device.compute_capability / 10;
        if (runs && (best.empty() || architecture_of(best) < sm)) {
            best = hash;
        }
    }
    return best;
}

std::span<const Kernel> all_kernels() {
    static const std::vector<Kernel> kernels = [] {
        std::vector<Kernel> list;
#define X(id, in_ladder, has_launch, Args, lines, hash) \
    list.push_back(kernels::id::kernel());              \
    list.back().ladder = in_ladder;                     \
    list.back().own_lines = lines;                      \
    list.back().source_hash = hash;                     \
    take_launch(list.back(), launch_if<has_launch, HeldLaunch<Args>, &kernels::id::launch>());
#include "kernels.inc"
#undef X
        return list;
    }();
    return kernels;
}

const Kernel& find_kernel(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Kernel& kernel : all_kernels()) {
        if (kernel.name == name) {
            return kernel;
        }
        require(!kernel.was_called(name), Status::invalid_argument,
                "kernel '{}' has another name now: '{}'", name, kernel.name);
        names.push_back(kernel.name);
    }
    if (const std::string_view same = same_among(name, names); !same.empty()) {
        return find_kernel(same);
    }
    fail(Status::invalid_argument, "kernel '{}' does not exist{}", name,
         did_you_mean(name, names, "`raceline kernels` lists them"));
}

std::string why_not(const Kernel& kernel, const Workload& workload, int tile,
                    const Device& device) {
    if (std::string reason = kernel.why_not(workload, tile, device); !reason.empty()) {
        return reason;
    }
    return why_not(kernel.counts(workload, tile, device), device);
}

std::string why_not(std::span<const Counts> launches, const Device& device) {
    for (const Counts& launch : launches) {
        if (std::string reason = too_large(device, launch); !reason.empty()) {
            return reason;
        }
        if (const auto missing = missing_rate(device, launch.work); !missing.empty()) {
            return fmt::format("no rate of {} is known for {}", missing, device.id);
        }
    }
    return {};
}

std::string why_not(const Kernel& kernel, const Workload& workload, const Device& device) {
    const bool on_cpu = device.kind == DeviceKind::cpu;
    if (on_cpu != (kernel.engine == Engine::cpu) || device.kind == DeviceKind::rocm) {
        return fmt::format("it runs on {}, not on {}",
                           kernel.engine == Engine::cpu ? "CPUs" : "CUDA GPUs", device.id);
    }
    std::string first;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        std::string reason = why_not(kernel, workload, tile, device);
        if (reason.empty()) {
            return {};
        }
        first = first.empty() ? std::move(reason) : first;
    }
    return first.empty() ? "it lists no tile" : first;
}

}  // namespace raceline
