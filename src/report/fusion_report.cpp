// SPDX-License-Identifier: Apache-2.0
#include "report/fusion_report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

#include "api/engine_choice.hpp"
#include "model/rates.hpp"
#include "model/residency.hpp"
#include "model/speed_of_light.hpp"
#include "report/case_columns.hpp"
#include "run/run_case.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"
#include "workload/operation_shape.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

ProblemWork work_of(const FusionPart& part, const Workload& fused) {
    if (part.workload) {
        return raceline::work_of(*part.workload);
    }
    const bool on_keys = part.name != "softmax";
    return {part.bytes_read,      part.bytes_written, part.flops,
            part.matrix_products, fused.dtype,        on_keys ? fused.kv_dtype : fused.dtype};
}

/// How much of a part's traffic is the score matrix.
double scores_of(const FusionPart& part, double scores) {
    return part.name == "softmax" ? 2 * scores : scores;
}

double seconds_in_cache(const Fusion& fusion, const Device& device, const LaunchCase& how) {
    const std::optional<double> cache =
        device.find(device.kind == DeviceKind::cpu ? "byte.llc" : "byte.l2");
    if (fusion.scores == 0 || !cache) {
        return 0;
    }
    double sum = 0;
    for (const FusionPart& part : fusion.parts) {
        ProblemWork work = work_of(part, fusion.fused);
        const bool first = part.name == "scores";
        work.bytes_read -= first ? 0 : fusion.scores;
        work.bytes_written -= part.name == "values" ? 0 : fusion.scores;
        sum += std::max(speed_of_light(device, work, how).seconds,
                        scores_of(part, fusion.scores) / *cache);
    }
    return sum;
}

std::string intensity_text(double flops, double bytes) {
    return bytes > 0 ? format_number(flops / bytes) : "";
}

std::string bytes_text(double bytes) {
    return format_si(bytes, "B");
}

/// Sum over the parts; 0 where one of them is not known.
double sum_of(std::span<const FusionTime> times, double FusionTime::* seconds) {
    double sum = 0;
    for (const FusionTime& time : times) {
        if (time.*seconds <= 0) {
            return 0;
        }
        sum += time.*seconds;
    }
    return sum;
}

/// "1.60x by the bound, 1.58x predicted"
std::string gains_text(const FusionBounds& bounds, std::span<const FusionTime> parts,
                       const FusionTime& fused) {
    std::string text = fmt::format("{:.2f}× by the bound", bounds.before / bounds.fused.seconds);
    const auto add = [&](double FusionTime::* seconds, const char* word) {
        const double before = sum_of(parts, seconds);
        if (before > 0 && fused.*seconds > 0) {
            text += fmt::format(", {:.2f}× {}", before / (fused.*seconds), word);
        }
    };
    add(&FusionTime::predicted, "predicted");
    add(&FusionTime::measured, "measured");
    return text;
}

/// Steps that were measured in vain: their times are in no sum.
std::string unsettled_text(const Fusion& fusion, std::span<const FusionTime> times) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < times.size(); ++i) {
        if (times[i].unsettled && times[i].measured == 0) {
            names.push_back(i < fusion.parts.size() ? fusion.parts[i].name : "fused");
        }
    }
    return names.empty() ? ""
                         : fmt::format(
                               "no measured time of {} settled: it counts in no sum and no "
                               "gain",
                               fmt::join(names, ", "));
}

/// Where the kernel gives back more than fusing saves.
std::string loss_text(std::span<const FusionTime> parts, const FusionTime& fused) {
    constexpr double clearly = 1.02;
    const double before = sum_of(parts, &FusionTime::predicted);
    return before > 0 && fused.predicted > clearly * before
               ? fmt::format(
                     "fused is predicted slower: {} has code of its own for some chains, "
                     "and takes the steps of this one by turns",
                     fused.kernel)
               : "";
}

std::string scores_text(const Fusion& fusion, const Device& device, const FusionBounds& bounds) {
    if (bounds.before_cached == 0) {
        return "";
    }
    const auto cache = static_cast<double>(last_cache_bytes(device));
    return fmt::format(
        "the score matrix is {}: with it in DRAM the parts take {} or more, with it in the "
        "last-level cache {} or more; the cache holds {}, {}",
        bytes_text(fusion.scores), format_seconds(bounds.before),
        format_seconds(bounds.before_cached), bytes_text(cache),
        fusion.scores <= cache ? "so that it may stay there" : "so that it does not fit");
}

/// The parts multiply whole matrices, and the fused kernel what the mask leaves.
std::string mask_text(const Fusion& fusion) {
    double parts = 0;
    for (const FusionPart& part : fusion.parts) {
        parts += part.matrix_products ? part.flops : 0;
    }
    constexpr double clearly = 1.01;
    return fusion.fused.is_attention() && parts > clearly * fusion.fused.flops()
               ? "the parts compute masked scores too, which the fused kernel leaves out: the gain "
                 "is that of fusing and of the mask together"
               : "";
}

}  // namespace

FusionBounds bounds_of(const Fusion& fusion, const Device& device, const LaunchCase& how) {
    FusionBounds bounds;
    for (const FusionPart& part : fusion.parts) {
        bounds.parts.push_back(speed_of_light(device, work_of(part, fusion.fused), how));
        bounds.before += bounds.parts.back().seconds;
    }
    bounds.fused = speed_of_light(device, fusion.fused, how);
    bounds.before_cached = seconds_in_cache(fusion, device, how);
    return bounds;
}

std::vector<FusionTime> predicted_times(const Fusion& fusion, const Device& device,
                                        const LaunchCase& how) {
    std::vector<FusionTime> times;
    const auto add = [&](const Workload& w) {
        FusionTime& time = times.emplace_back();
        try {
            const api::EngineChoice choice =
                api::choose_engine(w, device, how.threads, {.backend = {}, .must_run = false});
            Case which;
            which.kernel = choice.kernel;
            which.tile = choice.tile;
            which.workload = w;
            which.options.how = how;
            time.kernel = choice.kernel->name;
            time.predicted = explain_case(which, device).prediction.seconds;
        } catch (const Error& error) {
            if (error.status() != Status::unsupported) {
                throw;
            }
            time.why_not = error.what();
        }
    };
    for (const FusionPart& part : fusion.parts) {
        if (part.workload) {
            add(*part.workload);
        } else {
            times.emplace_back().why_not = "it is counted, not run";
        }
    }
    add(fusion.fused);
    return times;
}

std::string fusion_text(const Fusion& fusion, const Device& device, const LaunchCase& how,
                        std::span<const FusionTime> times, const TextStyle& style) {
    require(times.size() == fusion.parts.size() + 1, Status::internal,
            "a chain of {} parts was given {} times", fusion.parts.size(), times.size());
    const FusionBounds bounds = bounds_of(fusion, device, how);
    const auto parts = times.first(fusion.parts.size());
    const FusionTime& fused = times.back();
    const bool measured = sum_of(parts, &FusionTime::measured) > 0 || fused.measured > 0;
    TextTable table(
        std::string(
            "step | >?4 reads | >?4 writes | >?6 FLOP/B | >?6 ridge | ?7 limiter | >bound | >?6 of "
            "bound | ?5 kernel | ") +
        (measured ? ">predicted | >measured" : ">predicted"));
    const auto add = [&](std::string name, double read, double written, double flops,
                         const SpeedOfLight* bound, double seconds, const FusionTime& time) {
        std::vector<std::string> cells{
            std::move(name),
            bytes_text(read),
            bytes_text(written),
            intensity_text(flops, read + written),
            bound != nullptr && bound->ridge > 0 ? format_number(bound->ridge) : "",
            bound != nullptr ? bound->limiter : "",
            time_text(seconds),
            share_of_bound(seconds, time.measured > 0 ? time.measured : time.predicted),
            time.kernel,
            time_text(time.predicted)};
        if (measured) {
            cells.push_back(time_text(time.measured));
        }
        table.add(std::move(cells));
    };
    double read = 0, written = 0;
    for (std::size_t i = 0; i < fusion.parts.size(); ++i) {
        const FusionPart& part = fusion.parts[i];
        read += part.bytes_read;
        written += part.bytes_written;
        add(part.name, part.bytes_read, part.bytes_written, part.flops, &bounds.parts[i],
            bounds.parts[i].seconds, parts[i]);
    }
    add("one after the other", read, written, fusion.flops(), nullptr, bounds.before,
        {"", sum_of(parts, &FusionTime::predicted), sum_of(parts, &FusionTime::measured)});
    // What the bound divides, so that intensity, ridge and limiter fit each other.
    add("fused", fusion.fused.bytes_read(), fusion.fused.bytes_written(),
        raceline::work_of(fusion.fused).flops, &bounds.fused, bounds.fused.seconds, fused);
    const auto sentence = [&](const std::string& text) {
        return text.empty() ? text : paragraph(text, style);
    };
    const double saved = fusion.bytes_before() - fusion.bytes_after();
    return fmt::format(
        "{} on {}\n{}{}{}{}{}{}{}", format_shape(fusion.fused), device.id, table.str(style),
        sentence(fmt::format("fusing saves {} of {}: {}", bytes_text(saved),
                             bytes_text(fusion.bytes_before()), gains_text(bounds, parts, fused))),
        sentence(mask_text(fusion)), sentence(unsettled_text(fusion, times)),
        sentence(loss_text(parts, fused)), sentence(scores_text(fusion, device, bounds)),
        sentence(fused.kernel.empty() ? fmt::format("no kernel runs it fused: {}", fused.why_not)
                                      : ""));
}

}  // namespace raceline
