// SPDX-License-Identifier: Apache-2.0
#include "selection.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "device/catalog.hpp"
#include "receipt/named_file.hpp"
#include "registry/registry.hpp"
#include "support/check.hpp"
#include "support/nearest.hpp"
#include "terminal.hpp"
#include "tune/best_tile.hpp"
#include "usage.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace raceline::cli {
namespace {

constexpr std::string_view replay_prefix = "replay:";

std::string replayed_file(const std::string& device) {
    require(device.size() > replay_prefix.size(), Status::invalid_argument,
            "device '{}' names no file; name a receipt file, as in replay:r.jsonl", device);
    const std::string file = device.substr(replay_prefix.size());
    require_receipts(file);
    return file;
}

Device named_device(const std::string& name) {
    if (name.empty()) {
        auto cuda = live_cuda();
        return cuda ? *cuda : live_cpu();
    }
    auto cuda = live_cuda();
    const bool any_cuda = same_word(name, "cuda");
    if (cuda && (any_cuda || cuda->id == name)) {
        return *cuda;
    }
    require(!any_cuda, Status::no_device,
            "device 'cuda' is not there: no CUDA driver or device was found, or raceline was built "
            "without CUDA");
    const std::string id = device_called(name);
    return id == "cpu" ? live_cpu() : cuda && cuda->id == id ? *cuda : datasheet_device(id);
}

using Words = std::vector<std::string_view>;

// One of an option's words for GPUs, of which the first is the default; on a CPU `of_cpu` alone.
std::string known_word(std::string_view option, const std::string& given, const Words& of_gpus,
                       std::string_view of_cpu, const Device& device) {
    const bool on_cpu = device.kind == DeviceKind::cpu;
    if (given.empty() || (on_cpu && same_word(given, of_cpu))) {
        return std::string(on_cpu ? of_cpu : of_gpus.front());
    }
    const std::string_view known = same_among(given, of_gpus);
    require(!known.empty(), Status::invalid_argument, "{} '{}' does not exist{}", option, given,
            one_of_these(given, of_gpus));
    require(!on_cpu, Status::invalid_argument, "{} {}: only a GPU has this to choose, {} is a CPU",
            option, known, device.id);
    return std::string(known);
}

// Short enough to be typed again: a failure names it. RACELINE_SEED, which tests and CI set, takes
// its place.
std::uint64_t fresh_seed() {
    if (const char* fixed = std::getenv("RACELINE_SEED"); fixed != nullptr && *fixed != '\0') {
        const auto seed = parse_whole(fixed);
        if (!seed) {
            fail(Status::invalid_argument,
                 "RACELINE_SEED is '{}'; it must be a whole number from 0 to {}", fixed,
                 std::numeric_limits<std::uint64_t>::max());
        }
        return *seed;
    }
    return std::random_device{}() % 1'000'000'000 + 1;
}

// Ceilings are those of the whole machine: fewer cores are cut out of it when it has them.
Device with_threads(Device device, int threads) {
    if (threads == 0) {
        return device;
    }
    require(device.kind == DeviceKind::cpu, Status::invalid_argument,
            "--threads {}: only a CPU has threads to choose, {} is a GPU", threads, device.id);
    require_logical_cpus(device, threads, "--threads");
    return restrict_units(std::move(device), threads);
}

}  // namespace

LaunchCase launch_case(const Options& options, const Device& device) {
    const bool on_cpu = device.kind == DeviceKind::cpu;
    LaunchCase how;
    how.cold = !options.warm;
    how.launch_path =
        known_word("--launch-path", options.launch_path, {"graph", "stream"}, "parallel", device);
    how.regime =
        known_word("--regime", options.regime, {"sustained", "alone"}, "sustained", device);
    // A replayed file may hold one case with several numbers of threads.
    how.threads = on_cpu ? (options.threads != 0 ? options.threads : device.units) : 0;
    return how;
}

Device select_device(const Options& options) {
    if (options.device.starts_with(replay_prefix)) {
        return make_replay_backend(replayed_file(options.device))->device();
    }
    if (options.rates) {
        require_receipts(*options.rates);
    }
    Device device = named_device(options.device);
    if (const std::string damage = device.live && !options.rates ? cache_damage(device) : "";
        !damage.empty()) {
        say("the ceilings that were kept of this machine are damaged and not used; `raceline "
            "measure` makes new ones ({})",
            damage);
    }
    apply_rates(device, options.rates);
    return with_threads(std::move(device), options.threads);
}

Device select_device_of_calls(const Options& options) {
    if (options.device.starts_with(replay_prefix)) {
        return select_device(options);
    }
    Device device = named_device(options.device);
    apply_committed_rates(device);
    return with_threads(std::move(device), options.threads);
}

std::unique_ptr<Backend> select_backend(const Options& options) {
    if (options.device.starts_with(replay_prefix)) {
        return make_replay_backend(replayed_file(options.device));
    }
    Device device = select_device(options);
    require(device.live, Status::no_device,
            "device '{}' is not on this machine: bench and check need a live device (`raceline "
            "devices` marks them) or replay:FILE; predict takes any",
            device.id);
    return device.kind == DeviceKind::cpu ? make_cpu_backend(std::move(device))
                                          : make_cuda_backend(std::move(device));
}

std::string command_of(const Case& which, const Device& device) {
    std::string tile;
    for (const auto& [name, value] : which.kernel->tile(which.tile)) {
        tile += fmt::format("{}{}={}", tile.empty() ? "" : ",", name, value);
    }
    return fmt::format("raceline check --device {} --kernel {}{} --shape '{}' --seed {}",
                       device.kind == DeviceKind::cpu ? "cpu" : "cuda", which.kernel->name,
                       tile.empty() ? "" : " --tile " + tile, format_shape(which.workload),
                       which.options.seed);
}

void say_again(const std::vector<std::string>& commands) {
    constexpr std::size_t most = 8;
    for (std::size_t i = 0; i < std::min(most, commands.size()); ++i) {
        say("again: {}", commands[i]);
    }
    if (commands.size() > most) {
        say("and {} more", commands.size() - most);
    }
}

std::vector<Workload> select_workloads(const Options& options, std::string* suite_name) {
    std::optional<DType> dtype;
    if (!options.dtype.empty()) {
        dtype = parse_dtype(options.dtype);
    }
    require(options.suite.empty() || options.shapes.empty(), Status::invalid_argument,
            "--suite and --shape exclude each other");
    if (options.shapes.empty()) {
        const Suite suite = make_suite(options.suite.empty() ? "quickstart" : options.suite, dtype);
        *suite_name = suite.name;
        return suite.workloads;
    }
    suite_name->clear();
    std::vector<Workload> list;
    list.reserve(options.shapes.size());
    for (const std::string& shape : options.shapes) {
        list.push_back(parse_shape(shape, dtype.value_or(DType::bf16)));
    }
    return list;
}

Calibration calibration_of(const Options& options) {
    return options.uncalibrated ? Calibration::left_out : Calibration::used;
}

std::vector<Case> select_problems(const Options& options, const Device& device) {
    Case base;
    const std::vector<Workload> workloads = select_workloads(options, &base.suite);
    base.options.how = launch_case(options, device);
    base.options.seed = options.seed ? *options.seed : fresh_seed();
    if (options.max_seconds > 0) {
        base.options.limits.max_seconds = options.max_seconds;
    }
    std::vector<Case> problems(workloads.size(), base);
    for (std::size_t i = 0; i < workloads.size(); ++i) {
        problems[i].workload = workloads[i];
    }
    return problems;
}

namespace {

// Those that were named, else all that the device's kind runs.
std::vector<const Kernel*> select_kernels(const Options& options, const Device& device) {
    std::vector<const Kernel*> kernels;
    kernels.reserve(all_kernels().size() + options.kernels.size());
    for (const std::string& name : options.kernels) {
        const Kernel* const named = &find_kernel(name);
        if (std::ranges::find(kernels, named) == kernels.end()) {
            kernels.push_back(named);
        }
    }
    const bool on_cpu = device.kind == DeviceKind::cpu;
    for (const Kernel& kernel : all_kernels()) {
        if (options.kernels.empty() && on_cpu == (kernel.engine == Engine::cpu)) {
            kernels.push_back(&kernel);
        }
    }
    return kernels;
}

}  // namespace

std::vector<Case> select_cases(const Options& options, const Device& device) {
    const Calibration calibration = calibration_of(options);
    const std::string tiles = options.tile.empty() ? "best" : options.tile;
    const std::vector<const Kernel*> kernels = select_kernels(options, device);
    std::vector<Case> cases;
    for (const Case& problem : select_problems(options, device)) {
        for (const Kernel* kernel : kernels) {
            Case one = problem;
            one.kernel = kernel;
            if (options.kernels.empty() && kernel->op != one.workload.op) {
                continue;  // it computes something else, which nobody asks it to
            }
            if (!why_not(*kernel, one.workload, device).empty()) {
                cases.push_back(one);
                continue;
            }
            for (const int tile :
                 select_tiles(*kernel, tiles, one.workload, device, one.options.how, calibration)) {
                one.tile = tile;
                cases.push_back(one);
            }
        }
    }
    return cases;
}

namespace {

// "h=8,q=1,k=64,d=64,dtype=bf16; …; and 3 more"
std::string list_of(const std::vector<Workload>& workloads) {
    constexpr std::size_t most = 4;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, workloads.size()); ++i) {
        text += (i == 0 ? "" : "; ") + format_shape(workloads[i]);
    }
    return workloads.size() > most ? fmt::format("{}; and {} more", text, workloads.size() - most)
                                   : text;
}

// Those that the file has, and those that no kernel could run, which say so.
// `named`: the user named problems, of which none may be missing. Else what no kernel and tile of
// today answers is left out.
std::vector<Case> answered(const std::vector<Case>& asked, const Options& options,
                           const Backend& file, bool named) {
    std::vector<Case> kept;
    std::size_t from_file = 0;
    std::map<std::pair<std::string, std::string>, bool> found;  // by problem and named kernel
    for (const Case& one : asked) {
        if (!why_not(*one.kernel, one.workload, file.device()).empty()) {
            kept.push_back(one);
            continue;
        }
        const std::string kernel = options.kernels.empty() ? "" : std::string(one.kernel->name);
        bool& any = found[{format_shape(one.workload), kernel}];
        if (file.holds(*one.kernel, one.tile, one.workload, one.options)) {
            kept.push_back(one);
            ++from_file;
            any = true;
        }
    }
    const std::string path = replayed_file(options.device);
    constexpr std::string_view of_today =
        "no kernel and tile of today, with these threads, launch path and caches";
    if (!named) {
        require(from_file > 0, Status::invalid_argument, "{} has cases of {}", path, of_today);
        if (from_file < file.case_count()) {
            say("{} of the {} cases in {} are left out: they are of {}",
                file.case_count() - from_file, file.case_count(), path, of_today);
        }
        return kept;
    }
    for (const auto& [what, any] : found) {
        const auto& [shape, kernel] = what;
        const std::string by = kernel.empty() ? "" : " by " + kernel;
        const bool has = std::ranges::any_of(
            file.workloads(), [&](const Workload& one) { return format_shape(one) == shape; });
        require(any || !has, Status::invalid_argument, "{} has {}, but{} of {}", path, shape, by,
                of_today);
        require(any, Status::invalid_argument,
                "{} holds no measurement of {}{}; it has measurements of {}", path, shape, by,
                list_of(file.workloads()));
    }
    return kept;
}

}  // namespace

std::vector<Case> select_cases(const Options& options, const Backend& backend) {
    if (!options.device.starts_with(replay_prefix)) {
        return select_cases(options, backend.device());
    }
    Options asked = options;
    asked.tile = options.tile.empty() ? "all" : options.tile;
    const bool named = !options.suite.empty() || !options.shapes.empty();
    if (!named) {
        for (const Workload& workload : backend.workloads()) {
            asked.shapes.push_back(format_shape(workload));
        }
    }
    return answered(select_cases(asked, backend.device()), options, backend, named);
}

}  // namespace raceline::cli
