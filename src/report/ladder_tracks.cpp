// SPDX-License-Identifier: Apache-2.0
#include "report/ladder_tracks.hpp"

#include <algorithm>
#include <array>

#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr std::array tracks{
    LadderTrack{"prefill", "Prefill", "ladder", "h=8,q=2048,k=2048,d=64,dtype=fp16"},
    LadderTrack{"decode", "Decode", "ladder", "h=32/8,q=1,k=8192,d=128,dtype=fp16"},
    LadderTrack{"from-scratch", "From scratch on one shape", "from-scratch",
                "h=8,q=512,k=512,d=64,dtype=fp16"}};

// Rungs of a track, each after its predecessor, by name where several share one.
void add_after(std::string_view predecessor, std::string_view track,
               std::vector<const Kernel*>& order) {
    for (const Kernel& kernel : all_kernels()) {
        if (kernel.rung != nullptr && kernel.rung->track == track &&
            kernel.rung->predecessor == predecessor &&
            std::find(order.begin(), order.end(), &kernel) == order.end()) {
            order.push_back(&kernel);
            add_after(kernel.name, track, order);
        }
    }
}
bool on_track(std::string_view rung, std::string_view track) {
    const auto all = all_kernels();
    return std::any_of(all.begin(), all.end(), [&](const Kernel& kernel) {
        return kernel.name == rung && kernel.rung != nullptr && kernel.rung->track == track;
    });
}

}  // namespace

std::span<const LadderTrack> ladder_tracks() {
    return tracks;
}

std::vector<const Kernel*> rungs_of(std::string_view track) {
    std::vector<const Kernel*> order;
    add_after("", track, order);
    for (const Kernel& kernel : all_kernels()) {  // those that begin after another track's rung
        if (kernel.rung != nullptr && kernel.rung->track == track &&
            !on_track(kernel.rung->predecessor, track)) {
            add_after(kernel.rung->predecessor, track, order);
        }
    }
    return order;
}

const RungCase* shown_case(const std::vector<RungCase>& cases, std::string_view reference) {
    const auto plain = [](const std::string& shape) {
        Workload w = parse_shape(shape);
        w.kv_dtype = w.dtype;
        return format_shape(w);
    };
    const auto exact = std::find_if(cases.begin(), cases.end(),
                                    [&](const RungCase& c) { return c.shape == reference; });
    const auto near = std::find_if(cases.begin(), cases.end(),
                                   [&](const RungCase& c) { return plain(c.shape) == reference; });
    const auto shown = exact != cases.end() ? exact : near != cases.end() ? near : cases.begin();
    return cases.empty() ? nullptr : &*shown;
}

}  // namespace raceline
