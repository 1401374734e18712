// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "report/docs_peers.hpp"
#include "report/docs_tables.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using Align = TextTable::Align;

std::string form_case(const DocsSample& sample) {
    const Workload& w = sample.workload;
    const std::string dtype = sample.about.workload.at("dtype").get<std::string>();
    return w.seqlen_q > 1
               ? fmt::format("prefill {}, {}", dtype, w.mask == Mask::full ? "full" : "causal")
               : fmt::format("decode {}, {}/{} heads, {} keys", dtype, w.heads_q, w.heads_kv,
                             w.seqlen_k);
}

std::vector<std::string> form_line(const std::string& title,
                                   const std::vector<const DocsSample*>& samples,
                                   const std::map<std::string, int>& forms) {
    std::map<std::string, std::vector<double>> by_form;
    std::map<std::string, double> fastest;
    for (const DocsSample* sample : samples) {
        by_form[peer_of(*sample).backend].push_back(sample->ratio);
        const auto at = fastest.try_emplace(format_shape(sample->workload), sample->ratio).first;
        at->second = std::min(at->second, sample->ratio);
    }
    std::vector<double> least;
    least.reserve(fastest.size());
    for (const auto& [shape, ratio] : fastest) {
        least.push_back(ratio);
    }
    std::vector<std::string> line{title, std::to_string(fastest.size()), mean_cell(least)};
    for (const auto& [form, one] : forms) {
        line.push_back(mean_cell(by_form[form]));
    }
    return line;
}

}  // namespace

std::string docs_forms(DocsEvidence& evidence, const DocsBlock& block) {
    const auto [samples, left_out] = settled_rows(evidence, block);
    std::map<std::string, int> forms;
    std::vector<std::pair<std::string, std::vector<const DocsSample*>>> cases;
    for (const DocsSample& sample : samples) {
        forms[peer_of(sample).backend] = 1;
        const std::string name = form_case(sample);
        auto at = std::find_if(cases.begin(), cases.end(),
                               [&](const auto& one) { return one.first == name; });
        if (at == cases.end()) {
            at = cases.insert(at, {name, {}});
        }
        at->second.push_back(&sample);
    }
    std::vector<TextTable::Column> columns{
        {"its time / ours"}, {"shapes", Align::right}, {"its fastest form", Align::right}};
    for (const auto& [form, one] : forms) {
        columns.push_back({"`" + form + "`", Align::right});
    }
    TextTable table(std::move(columns));
    for (const auto& [name, members] : cases) {
        table.add(form_line(name, members, forms));
    }
    return fmt::format("{}\n\n`{}` beside {}; geometric means.{}\n\n{}", docs_heading(samples),
                       samples.front().about.kernel, peer_versions(samples), left_out,
                       table.markdown());
}

std::string docs_errors(DocsEvidence& evidence, const DocsBlock& block) {
    std::vector<DocsSample> samples = evidence.samples(block);
    std::erase_if(samples, [](const DocsSample& s) {
        return !s.peer || s.relative_rms <= 0 || s.peer_rms <= 0;
    });
    require(!samples.empty(), Status::invalid_argument, "no call was judged beside a peer");
    std::map<std::string, std::vector<double>> by_logits;
    for (const DocsSample& sample : samples) {
        const double quotient = sample.relative_rms / sample.peer_rms;
        by_logits["all"].push_back(quotient);
        if (!sample.logits.empty()) {
            by_logits[sample.logits].push_back(quotient);
        }
    }
    TextTable table("logits | >calls | >geometric mean | >at most");
    for (const auto& [logits, quotients] : by_logits) {
        table.add({logits, std::to_string(quotients.size()),
                   fmt::format("{:.3f}", geometric_mean(quotients)),
                   fmt::format("{:.3f}", *std::max_element(quotients.begin(), quotients.end()))});
    }
    return fmt::format("{}\n\nRelative RMS error of `{}` over that of {}.\n\n{}",
                       docs_heading(samples), samples.front().about.kernel,
                       peer_title(peer_of(samples.front()).name), table.markdown());
}

}  // namespace raceline
