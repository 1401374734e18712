// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "report/docs_peers.hpp"
#include "report/docs_tables.hpp"
#include "support/check.hpp"
#include "support/statistics.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using Align = TextTable::Align;

// A comparison has ours in a row for each peer: each case once.
std::vector<DocsSample> timed(DocsEvidence& evidence, const DocsBlock& block,
                              const std::string& source) {
    std::vector<DocsSample> once;
    std::set<std::string> seen;
    for (DocsSample& sample : evidence.samples(block, source)) {
        const std::string key = sample.file + sample.about.kernel + sample.about.tile.dump() +
                                sample.regime + format_shape(sample.workload);
        if (sample.measured && !sample.measured->unsettled && sample.passed &&
            seen.insert(key).second) {
            once.push_back(std::move(sample));
        }
    }
    require(!once.empty(), Status::invalid_argument, "no settled row that passed the gate is left");
    return once;
}

double seconds_of(const DocsSample& sample) {
    if (!sample.measured) {
        fail(Status::invalid_argument, "the row of {} has no time", format_shape(sample.workload));
    }
    return sample.measured->seconds_median;
}

const Prediction& prediction_of(const DocsSample& sample) {
    if (!sample.prediction) {
        fail(Status::invalid_argument, "the row of {} has no prediction",
             format_shape(sample.workload));
    }
    return *sample.prediction;
}

double rate_of(const DocsSample& sample) {
    return sample.workload.flops() / seconds_of(sample);
}

// What must agree between two kernels that stand side by side, whatever their types.
std::string shape_without_type(Workload w) {
    w.dtype = w.kv_dtype = DType::bf16;
    return format_shape(w);
}

std::string with_a_decimal(double part) {
    return format_percent(part, 1);
}

std::string signed_percent(double part) {
    return format_signed_percent(part, 1);
}

std::vector<TextTable::Column> rate_columns(const std::vector<DocsSample>& samples,
                                            const std::vector<DocsSample>& others) {
    const auto title = [](const DocsSample& sample) {
        return fmt::format("`{}`, {}", sample.about.kernel,
                           sample.about.workload.at("dtype").get<std::string>());
    };
    std::vector<TextTable::Column> columns{{"shape"}, {title(samples.front()), Align::right}};
    if (!others.empty()) {
        columns.push_back({title(others.front()), Align::right});
        columns.push_back({"quotient", Align::right});
    }
    return columns;
}

}  // namespace

std::string docs_rates(DocsEvidence& evidence, const DocsBlock& block) {
    const std::vector<DocsSample> samples = timed(evidence, block, "from");
    std::vector<DocsSample> others;
    if (!block.get("beside").empty()) {
        others = timed(evidence, block, "beside");
    }
    TextTable table(rate_columns(samples, others));
    for (const DocsSample& sample : samples) {
        const Workload& w = sample.workload;
        std::vector<std::string> line{
            fmt::format("d{} {}, {} tokens", w.headdim, w.mask == Mask::full ? "full" : "causal",
                        w.seqlen_q),
            format_si(rate_of(sample), "FLOP/s")};
        if (!others.empty()) {
            const auto twin = std::find_if(others.begin(), others.end(), [&](const DocsSample& o) {
                return shape_without_type(o.workload) == shape_without_type(w);
            });
            require(twin != others.end(), Status::invalid_argument, "no row of {} has the shape {}",
                    block.get("beside"), format_shape(w));
            line.push_back(format_si(rate_of(*twin), "FLOP/s"));
            line.push_back(fmt::format("{:.2f}", rate_of(sample) / rate_of(*twin)));
        }
        table.add(std::move(line));
    }
    std::vector<DocsSample> all = samples;
    all.insert(all.end(), others.begin(), others.end());
    return docs_heading(all) + "\n\n" + table.markdown();
}

std::string docs_cases(DocsEvidence& evidence, const DocsBlock& block) {
    std::vector<DocsSample> samples = timed(evidence, block, "from");
    const std::string wanted = block.get("shapes");
    if (!wanted.empty()) {
        std::vector<DocsSample> chosen;
        std::istringstream in(wanted);
        for (std::string shape; std::getline(in, shape, '|');) {
            const auto found = std::find_if(
                samples.begin(), samples.end(),
                [&](const DocsSample& s) { return format_shape(s.workload) == shape; });
            require(found != samples.end(), Status::invalid_argument,
                    "no settled row has the shape {}", shape);
            chosen.push_back(*found);
        }
        samples = std::move(chosen);
    }
    TextTable table("shape | limiter | >predicted | >measured | >error");
    for (const DocsSample& sample : samples) {
        const Prediction& predicted = prediction_of(sample);
        const double measured = seconds_of(sample);
        table.add({"`" + format_shape(sample.workload) + "`", predicted.limiter,
                   format_seconds(predicted.seconds), format_seconds(measured),
                   signed_percent(predicted.seconds / measured - 1)});
    }
    return docs_heading(samples) + "\n\n" + table.markdown();
}

std::string docs_accuracy(DocsEvidence& evidence, const DocsBlock& block) {
    std::vector<DocsSample> samples = timed(evidence, block, "from");
    std::erase_if(samples, [](const DocsSample& s) { return !s.prediction; });
    require(!samples.empty(), Status::invalid_argument, "no row has a prediction");
    std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> pairs;
    for (const DocsSample& sample : samples) {
        auto& [predicted, measured] = pairs[sample.about.kernel];
        predicted.push_back(prediction_of(sample).seconds);
        measured.push_back(seconds_of(sample));
    }
    TextTable table(
        "kernel | >cases | >median | >p90 | >bias | >within 10 % | >within 20 % | >largest");
    for (const auto& [kernel, times] : pairs) {
        const auto& [predicted, measured] = times;
        const PredictionAccuracy a = accuracy(predicted, measured);
        double largest = 0;
        for (std::size_t i = 0; i < predicted.size(); ++i) {
            largest = std::max(largest, std::abs(predicted[i] / measured[i] - 1));
        }
        table.add({"`" + kernel + "`", std::to_string(a.count), with_a_decimal(a.median_absolute),
                   with_a_decimal(a.p90_absolute), signed_percent(a.bias),
                   with_a_decimal(a.within_10), with_a_decimal(a.within_20),
                   with_a_decimal(largest)});
    }
    return docs_heading(samples) + "\n\nErrors of the model's own time, `seconds`.\n\n" +
           table.markdown();
}

namespace {

std::vector<double> ratios_of(const std::vector<DocsSample>& samples) {
    std::vector<double> ratios;
    for (const DocsSample& sample : samples) {
        if (sample.ratio > 0 && sample.settled()) {
            ratios.push_back(sample.ratio);
        }
    }
    return ratios;
}

std::vector<double> error_ratios_of(const std::vector<DocsSample>& samples) {
    std::vector<double> errors;
    for (const DocsSample& sample : samples) {
        if (sample.relative_rms > 0 && sample.peer_rms > 0) {
            errors.push_back(sample.relative_rms / sample.peer_rms);
        }
    }
    return errors;
}

std::string median_error(const std::vector<DocsSample>& samples) {
    std::vector<double> predicted, measured;
    for (const DocsSample& sample : samples) {
        if (sample.prediction && sample.measured && sample.settled() && sample.passed) {
            predicted.push_back(sample.prediction->seconds);
            measured.push_back(sample.measured->seconds_median);
        }
    }
    return with_a_decimal(accuracy(predicted, measured).median_absolute);
}

std::string figure(const std::vector<DocsSample>& samples, const std::string& of) {
    const std::vector<double> ratios = ratios_of(samples), errors = error_ratios_of(samples);
    if (of == "mean-ratio") {
        return fmt::format("{:.2f}", geometric_mean(ratios));
    }
    if (of == "least-ratio" && !ratios.empty()) {
        return fmt::format("{:.2f}", *std::min_element(ratios.begin(), ratios.end()));
    }
    if (of == "mean-error-ratio") {
        return fmt::format("{:.3f}", geometric_mean(errors));
    }
    if (of == "most-error-ratio" && !errors.empty()) {
        return fmt::format("{:.3f}", *std::max_element(errors.begin(), errors.end()));
    }
    if (of == "median-error") {
        return median_error(samples);
    }
    fail(Status::invalid_argument,
         "of={} is no figure of these rows; it must be mean-ratio, least-ratio, mean-error-ratio, "
         "most-error-ratio, median-error, first-sight, worst-first-sight or rate",
         of);
}

}  // namespace

std::string docs_value(DocsEvidence& evidence, const DocsBlock& block) {
    const std::string of = block.at("of");
    if (of == "first-sight") {
        return docs_first_sight(evidence);
    }
    if (of == "worst-first-sight") {
        return docs_worst_first_sight(evidence);
    }
    if (of == "rate") {
        const std::vector<DocsSample> one = timed(evidence, block, "from");
        require(one.size() == 1, Status::invalid_argument,
                "{} rows where one is asked for; choose by kernel, dtype, mask, d and q",
                one.size());
        const std::string age = docs_age(one);
        return format_si(rate_of(one.front()), "FLOP/s") + (age.empty() ? "" : " (" + age + ")");
    }
    const std::vector<DocsSample> samples = evidence.samples(block);
    static_cast<void>(docs_heading(samples));  // refuses what does not stand in one figure
    const std::string age = docs_age(samples);
    return figure(samples, of) + (age.empty() ? "" : " (" + age + ")");
}

}  // namespace raceline
