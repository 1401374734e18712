// SPDX-License-Identifier: Apache-2.0
#include "report/ladder_not_run.hpp"

#include <array>
#include <fmt/format.h>
#include <string_view>

#include "device/catalog.hpp"
#include "model/prediction.hpp"
#include "report/ladder_data.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr std::string_view hopper = "flop.wgmma.";

std::string moved(std::string_view id) {
    return id.starts_with(hopper) ? fmt::format("flop.tcgen05.{}", id.substr(hopper.size()))
                                  : std::string(id);
}

Work moved(const Work& work) {
    Work there;
    for (const auto& [id, amount] : work) {
        there[moved(id)] += amount;
    }
    return there;
}

struct NotRun {
    std::string_view rung, shape;
};
constexpr std::array not_run_cases{
    NotRun{"mla", "h=128,q=1,k=8192,mla=512+64,dtype=fp16"},
    NotRun{"mla", "b=64,h=128,q=1,k=8192,mla=512+64,dtype=fp16"},
    NotRun{"mla_tensor", "h=128,q=1,k=8192,mla=512+64,dtype=fp16"},
    NotRun{"mla_tensor", "b=64,h=128,q=1,k=8192,mla=512+64,dtype=fp16"},
    NotRun{"nvfp4_kv", "h=16,q=1,k=8192,d=128,dtype=fp16,kv=nvfp4"},
    NotRun{"nvfp4_kv", "h=16/2,q=1,k=8192,d=128,dtype=fp16,kv=nvfp4"},
    NotRun{"nvfp4_kv", "h=16/1,q=1,k=8192,d=128,dtype=fp16,kv=nvfp4"}};

// The tile that is predicted to be the fastest. The device's answer to `why_not` is not asked for:
// whether the code runs there is what the table leaves open.
std::vector<std::string> line_of(const Kernel& kernel, const Workload& w, const Device& b300) {
    Prediction best;
    int chosen = 0;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        const Prediction p = predict(b300, on_tcgen05(kernel.counts(w, tile, b300)),
                                     {.cold = true, .launch_path = "graph", .threads = 0});
        if (tile == 0 || p.seconds < best.seconds) {
            best = p;
            chosen = tile;
        }
    }
    return {std::string(kernel.name),
            format_shape(w),
            kernel.tile_text(chosen),
            fmt::format("{:.1f}", best.layer1.arithmetic_intensity),
            fmt::format("{:.1f}", best.layer1.ridge),
            best.layer1.limiter,
            format_seconds(best.layer1.bound_seconds),
            best.limiter,
            format_seconds(best.seconds),
            fmt::format("{:.1f}", w.flops() / best.seconds / 1e12),
            "*not run*"};
}

}  // namespace

std::vector<Counts> on_tcgen05(std::vector<Counts> launches) {
    for (Counts& launch : launches) {
        launch.work = moved(launch.work);
        for (Step& step : launch.steps) {
            step.work = moved(step.work);
        }
        for (auto& group : launch.overlap) {
            for (std::string& id : group) {
                id = moved(id);
            }
        }
    }
    return launches;
}

std::string not_run_markdown() {
    TextTable table(
        "rung | shape | ?9 tile | >FLOP/B | >ridge | bound by | >bound | limiter predicted | >time "
        "predicted | >TFLOP/s | time measured");
    const Device b300 = datasheet_device("b300");
    bool any = false;
    for (const auto& [rung, shape] : not_run_cases) {
        if (const Kernel* kernel = find_rung_or_engine(rung)) {
            table.add(line_of(*kernel, parse_shape(std::string(shape)), b300));
            any = true;
        }
    }
    return any ? "\n## Not run: B300, from counts and datasheet rates\n\n" +
                     ladder_lesson("Not run") + "\n" + table.markdown()
               : "";
}

}  // namespace raceline
