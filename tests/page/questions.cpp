// SPDX-License-Identifier: Apache-2.0
// Draws questions to the model (src/page/what_if.hpp) and answers them with the native build, for
// tests/page/agreement.py, which asks the WebAssembly build the same.
//   page_questions SEED COUNT   prints a line a question: it, a tab, the answer
//   page_questions suites       prints the suites that have shapes, a line each
// Each kernel, device and suite comes up in turn; what is asked of them is drawn.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fmt/format.h>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "device/catalog.hpp"
#include "device/device_state.hpp"
#include "page/what_if.hpp"
#include "registry/registry.hpp"
#include "workload/shape_grammar.hpp"
#include "workload/suites.hpp"

namespace {

using raceline::Json;

// SplitMix64: the same questions from a seed with every library.
class Draws {
public:
    explicit Draws(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31U);
    }
    double unit() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }
    template <class T>
    const T& of(const std::vector<T>& all) {
        return all[next() % all.size()];
    }

private:
    std::uint64_t state_;
};

struct Places {
    std::vector<Json> devices;
    std::vector<std::pair<std::string, std::vector<std::string>>> suites;  // name and shapes
};

Places places() {
    Places all;
    for (const std::string& id : raceline::device_ids()) {
        raceline::Device device = raceline::datasheet_device(id);
        raceline::apply_committed_rates(device);
        all.devices.push_back(raceline::device_state_to_json(device));
    }
    for (const std::string& name : raceline::suite_names()) {
        std::vector<std::string> shapes;
        for (const raceline::Workload& workload : raceline::make_suite(name).workloads) {
            shapes.push_back(raceline::format_shape(workload));
        }
        if (!shapes.empty()) {
            all.suites.emplace_back(name, std::move(shapes));
        }
    }
    return all;
}

bool serves(const raceline::Kernel& kernel, const std::string& shape, const Json& device) {
    return raceline::why_not(kernel, raceline::parse_shape(shape),
                             raceline::device_state_from_json(device))
        .empty();
}

// A shape of the suite whose turn it is that the kernel serves there, else of any suite: one of all
// of them is served, or the kernel is asked about one that it refuses. With the suite's name.
std::pair<std::string, std::string> shape_for(Draws& draws, const Places& all,
                                              const raceline::Kernel& kernel, const Json& device,
                                              std::size_t turn) {
    for (std::size_t tries = 0; tries < 2 * all.suites.size(); ++tries) {
        const auto& [name, shapes] = all.suites[(turn + tries) % all.suites.size()];
        const std::string& shape = draws.of(shapes);
        if (serves(kernel, shape, device)) {
            return {name, shape};
        }
    }
    const auto& [name, shapes] = all.suites[turn % all.suites.size()];
    return {name, draws.of(shapes)};
}

// What sliders and the typed shape of the panel reach beyond the suites: lengths up to the longest
// that there are, and sizes of operations that grow until their tensors take more bytes than an
// address of WebAssembly counts. What no kernel serves is a question too.
std::string moved(Draws& draws, const std::string& shape) {
    raceline::Workload w = raceline::parse_shape(shape);
    if (!w.is_attention()) {
        for (auto& [name, size] : w.extents) {
            size = std::min<std::int64_t>(size << draws.next() % 9, 1 << 26);
        }
        return raceline::format_shape(w);
    }
    if (w.ragged() || w.mla) {
        return shape;
    }
    w.batch = draws.of(std::vector<std::int64_t>{1, 2, 4, 16, 64, 256});
    w.seqlen_q = draws.of(std::vector<std::int64_t>{1, 4, 64, 256, 1024, 4096, 32768});
    w.seqlen_k = draws.of(std::vector<std::int64_t>{64, 512, 2048, 8192, 32768, 131072});
    if (draws.next() % 2 == 0) {
        // As many queries as 31 bits count, or as many rows of all heads, which engines count.
        constexpr std::int64_t longest = std::numeric_limits<std::int32_t>::max();
        w.batch = 1;
        w.seqlen_q = longest / (draws.next() % 2 == 0 ? 1 : w.heads_q);
        w.seqlen_k = draws.of(std::vector<std::int64_t>{2, 8192, 1 << 29, longest});
    }
    return raceline::format_shape(w);
}

// Half of the devices have other ceilings than their own, as far as the panel's sliders go.
Json assumed(Draws& draws, Json device) {
    if (draws.next() % 2 == 0) {
        for (Json& rate : device["rates"]) {
            rate["value"] = rate["value"].get<double>() * std::exp2(6 * draws.unit() - 3);
        }
    }
    return device;
}

Json question(Draws& draws, const Places& all, std::size_t turn) {
    const auto kernels = raceline::all_kernels();
    const raceline::Kernel& kernel = kernels[turn % kernels.size()];
    std::vector<Json> fitting;
    for (const Json& device : all.devices) {
        const bool cpu = device.at("kind") == "cpu";
        if (cpu == (kernel.engine == raceline::Engine::cpu) && device.at("kind") != "rocm") {
            fitting.push_back(device);
        }
    }
    const Json& device = fitting[turn / kernels.size() % fitting.size()];
    const auto [suite, shape] = shape_for(draws, all, kernel, device, turn);
    // Every tenth asks all kernels, on each device in turn.
    const bool everything = turn % 10 == 9;
    const bool cpu = device.at("kind") == "cpu";
    const Json& other = all.devices[turn / 10 % all.devices.size()];
    return {{"suite", suite},
            {"shape", draws.next() % 3 == 0 ? moved(draws, shape) : shape},
            {"device", assumed(draws, everything ? other : device)},
            {"kernel", everything ? "" : std::string(kernel.name)},
            {"cold", draws.next() % 4 != 0},
            {"launch_path", cpu                     ? "parallel"
                            : draws.next() % 2 == 0 ? "graph"
                                                    : "stream"}};
}

}  // namespace

int main(int argc, char** argv) {
    const bool suites = argc == 2 && argv[1] == std::string("suites");
    if (argc != 3 && !suites) {
        std::cerr << "usage: page_questions SEED COUNT, or page_questions suites\n";
        return 2;
    }
    const Places all = places();
    if (suites) {
        for (const auto& [name, shapes] : all.suites) {
            std::cout << name << '\n';
        }
        return 0;
    }
    Draws draws(std::strtoull(argv[1], nullptr, 10));
    const std::size_t count = std::strtoull(argv[2], nullptr, 10);
    for (std::size_t turn = 0; turn < count; ++turn) {
        const std::string asked = question(draws, all, turn).dump();
        std::cout << asked << '\t' << raceline::what_if(asked) << '\n';
    }
    return 0;
}
