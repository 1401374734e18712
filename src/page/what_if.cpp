// SPDX-License-Identifier: Apache-2.0
#include "page/what_if.hpp"

#include <algorithm>
#include <exception>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "api/engine_choice.hpp"
#include "device/device_state.hpp"
#include "model/speed_of_light.hpp"
#include "model/work_rates.hpp"
#include "registry/registry.hpp"
#include "run/call_caveats.hpp"
#include "run/memory_need.hpp"
#include "tune/best_tile.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

LaunchCase launch_of(const Json& question) {
    LaunchCase how;
    how.cold = question.value("cold", how.cold);
    how.launch_path = question.value("launch_path", how.launch_path);
    how.threads = question.value("threads", how.threads);
    return how;
}

Json bound_json(const SpeedOfLight& bound) {
    return {{"seconds", bound.seconds},
            {"limiter", bound.limiter},
            {"memory_seconds", bound.memory_seconds},
            {"compute_seconds", bound.compute_seconds},
            {"launch_seconds", bound.launch_seconds},
            {"engine", bound.engine},
            {"rates", bound.rates},
            {"arithmetic_intensity", bound.arithmetic_intensity},
            {"ridge", bound.ridge}};
}

// What must be known before the time is taken for one, as `raceline predict` says it.
Json caveats_json(double seconds, const Workload& workload, const Device& device) {
    Json caveats = Json::array();
    if (const std::string why = why_too_large(memory_of_tensors(workload, device), device);
        !why.empty()) {
        caveats.push_back(fmt::format("But a call would be refused: {}.", why));
    }
    if (const std::string why = why_not_compiled(device); !why.empty()) {
        caveats.push_back(fmt::format("But {}.", why));
    }
    if (lacks_launch_floor(device, seconds)) {
        caveats.push_back(fmt::format("But {}.", launch_floor_unknown));
    }
    return caveats;
}

Json answer_json(const Kernel& kernel, const TileChoice& choice, const Workload& workload,
                 const Device& device) {
    const Prediction& p = choice.prediction;
    Json terms = Json::array();
    for (const auto& [name, seconds] : p.layer2) {
        terms.push_back(Json::array({name, seconds}));
    }
    Json resources = Json::object();
    for (const auto& [id, seconds] : p.layer1.seconds) {
        resources[id] = seconds;
    }
    return {{"kernel", kernel.name},
            {"tile", kernel.tile_text(choice.tile)},
            {"limiter", p.limiter},
            {"seconds", p.seconds},
            {"bound_seconds", p.layer1.bound_seconds},
            {"arithmetic_intensity", p.layer1.arithmetic_intensity},
            {"terms", std::move(terms)},
            {"caveats", caveats_json(p.seconds, workload, device)},
            {"resources", std::move(resources)},
            {"rates", rates_of(device, kernel.counts(workload, choice.tile, device))}};
}

std::vector<const Kernel*> kernels_of(const std::string& name) {
    if (!name.empty()) {
        return {&find_kernel(name)};
    }
    std::vector<const Kernel*> all;
    for (const Kernel& kernel : all_kernels()) {
        all.push_back(&kernel);
    }
    return all;
}

bool runs_on(const Kernel& kernel, const Device& device) {
    return device.kind == (kernel.engine == Engine::cpu ? DeviceKind::cpu : DeviceKind::cuda);
}

using Call = std::optional<api::EngineChoice>;

// Null for a kernel that the call does not run.
const api::EngineChoice* choice_of(const Kernel& kernel, const Call& call) {
    return call && call->kernel == &kernel ? &*call : nullptr;
}

// In the tile that a call takes, else in the best one.
const TileChoice& tile_of(const Kernel& kernel, const std::vector<TileChoice>& ranked,
                          const Call& call) {
    if (const api::EngineChoice* choice = choice_of(kernel, call)) {
        const auto same = std::ranges::find(ranked, choice->tile, &TileChoice::tile);
        return same == ranked.end() ? ranked.front() : *same;
    }
    return ranked.front();
}

// In the order of the answer: what a call runs, other engines, rungs.
int rank_of(const Kernel& kernel, const Call& call) {
    return choice_of(kernel, call) != nullptr ? 0 : kernel.ladder ? 2 : 1;
}

Json kernels_json(const std::string& name, const Workload& workload, const Device& device,
                  const LaunchCase& how, const Call& call) {
    using Place = std::pair<int, double>;  // rank and seconds
    std::vector<std::pair<Place, Json>> served;
    Json others = Json::array();
    for (const Kernel* kernel : kernels_of(name)) {
        const std::vector<TileChoice> ranked = runs_on(*kernel, device)
                                                   ? ranked_tiles(*kernel, workload, device, how)
                                                   : std::vector<TileChoice>{};
        if (ranked.empty()) {
            others.push_back(
                {{"kernel", kernel->name}, {"reason", why_not(*kernel, workload, device)}});
        } else {
            const TileChoice& choice = tile_of(*kernel, ranked, call);
            served.emplace_back(Place(rank_of(*kernel, call), choice.prediction.seconds),
                                answer_json(*kernel, choice, workload, device));
        }
    }
    // Equal times keep the order of the registry.
    Json kernels = Json::array();
    while (!served.empty()) {
        const auto least = std::ranges::min_element(served, {}, &std::pair<Place, Json>::first);
        kernels.push_back(std::move(least->second));
        served.erase(least);
    }
    for (Json& other : others) {
        kernels.push_back(std::move(other));
    }
    return kernels;
}

Json answer(std::string_view question_text) {
    const Json question = parse_json(question_text, "the question");
    const Workload workload = parse_shape(question.at("shape").get<std::string>());
    validate(workload);
    const Device device = device_state_from_json(question.at("device"));
    const LaunchCase how = launch_of(question);
    const std::string name = question.value("kernel", std::string());
    // As `raceline predict` asks it.
    const Call call = name.empty() ? api::engine_of_call(workload, device, how.threads) : Call();
    return {{"shape", format_shape(workload)},
            {"workload", workload_to_json(workload)},
            {"flops", workload.flops()},
            {"bound", bound_json(speed_of_light(device, workload, how))},
            {"call", call ? Json(call->kernel->name) : Json()},
            {"kernels", kernels_json(name, workload, device, how, call)}};
}

}  // namespace

std::string what_if(std::string_view question) {
    Json said;
    try {
        said = answer(question);
        return said.dump();
    } catch (const std::exception& e) {
        said = Json::object({{"error", e.what()}});
    }
    return said.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace raceline
