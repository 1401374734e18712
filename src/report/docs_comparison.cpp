// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "report/docs_tables.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

using Align = TextTable::Align;

struct Group {
    std::int64_t headdim = 0;
    Mask mask = Mask::full;
    auto operator<=>(const Group&) const = default;
    [[nodiscard]] std::string name() const {
        return fmt::format("d{} {}", headdim, mask == Mask::full ? "full" : "causal");
    }
};

Group group_of(const DocsSample& sample) {
    return {sample.workload.headdim, sample.workload.mask};
}

struct Compared {
    std::vector<DocsSample> samples;
    std::string left_out;  ///< how many rows are not among them, in a sentence; empty: none
};

// Settled comparisons of calls that our kernel answered right.
Compared settled_rows(DocsEvidence& evidence, const DocsBlock& block) {
    Compared all{evidence.samples(block), ""};
    std::erase_if(all.samples, [](const DocsSample& s) { return s.ratio <= 0; });
    const std::size_t unsettled =
        std::erase_if(all.samples, [](const DocsSample& s) { return !s.settled() || !s.passed; });
    require(!all.samples.empty(), Status::invalid_argument, "no settled comparison is left");
    if (unsettled > 0) {
        all.left_out = fmt::format(
            " Rows that are left out because a time is not settled (its interval is wider than a "
            "tenth of it): {}.",
            unsettled);
    }
    return all;
}

// Of one kernel and one type: others answer another question.
Compared compared(DocsEvidence& evidence, const DocsBlock& block) {
    Compared all = settled_rows(evidence, block);
    const std::vector<DocsSample>& samples = all.samples;
    for (const DocsSample& sample : samples) {
        require(sample.about.kernel == samples.front().about.kernel &&
                    sample.workload.dtype == samples.front().workload.dtype,
                Status::invalid_argument,
                "comparisons of several kernels or types; choose by kernel=... and dtype=...");
    }
    return all;
}

std::vector<std::string> peers_of(const std::vector<DocsSample>& samples) {
    std::vector<std::string> peers;
    for (const DocsSample& sample : samples) {
        if (std::find(peers.begin(), peers.end(), sample.peer->name) == peers.end()) {
            peers.push_back(sample.peer->name);
        }
    }
    return peers;
}

std::string peer_title(const std::string& name) {
    static const std::map<std::string, std::string> titles{
        {"cudnn", "cuDNN"},          {"fa2", "FlashAttention-2"},  {"fa3", "FlashAttention-3"},
        {"fa4", "FlashAttention-4"}, {"flashinfer", "FlashInfer"}, {"torch_cpu", "PyTorch"}};
    const auto found = titles.find(name);
    return found == titles.end() ? name : found->second;
}

using Ratios = std::map<Group, std::vector<double>>;

std::string mean_cell(const std::vector<double>& ratios) {
    return ratios.empty() ? "" : fmt::format("{:.2f}", geometric_mean(ratios));
}

// An 8-bit peer that only passes by the bounds of sums which nothing promotes says so in its row.
bool is_beyond_bound(const PeerVerdict& verdict) {
    return !verdict.passed || verdict.more.value("accuracy", std::string()) == "fast";
}

// Errors of one peer beside ours, and how often they are beyond what our own kernel is held to.
std::string error_cell(const std::vector<DocsSample>& samples, const std::string& peer) {
    std::vector<double> errors;
    int beyond = 0;
    for (const DocsSample& sample : samples) {
        if (sample.peer->name == peer) {
            beyond += is_beyond_bound(sample.peer->correctness) ? 1 : 0;
            if (sample.relative_rms > 0 && sample.peer_rms > 0) {
                errors.push_back(sample.relative_rms / sample.peer_rms);
            }
        }
    }
    std::string cell = errors.empty()
                           ? "not known"
                           : fmt::format("{:.3f}, at most {:.3f}", geometric_mean(errors),
                                         *std::max_element(errors.begin(), errors.end()));
    return beyond > 0 ? cell + fmt::format(" (its error is beyond our bound on {})", beyond) : cell;
}

std::vector<std::string> summary_line(const std::string& title, const Ratios& ratios,
                                      const std::vector<Group>& groups, std::string errors) {
    std::vector<std::string> line{title};
    std::vector<double> all;
    for (const Group& group : groups) {
        const auto found = ratios.find(group);
        line.push_back(found == ratios.end() ? "" : mean_cell(found->second));
        if (found != ratios.end()) {
            all.insert(all.end(), found->second.begin(), found->second.end());
        }
    }
    line.push_back(mean_cell(all));
    line.push_back(fmt::format("{:.2f}", *std::min_element(all.begin(), all.end())));
    line.push_back(std::to_string(all.size()));
    line.push_back(std::move(errors));
    return line;
}

// Of each shape the fastest peer.
Ratios best_ratios(const std::vector<DocsSample>& samples) {
    std::map<std::string, std::pair<Group, double>> least;
    for (const DocsSample& sample : samples) {
        const auto [at, fresh] =
            least.try_emplace(format_shape(sample.workload), group_of(sample), sample.ratio);
        at->second.second = std::min(at->second.second, sample.ratio);
    }
    Ratios best;
    for (const auto& [shape, ratio] : least) {
        best[ratio.first].push_back(ratio.second);
    }
    return best;
}

std::vector<Group> groups_of(const std::vector<DocsSample>& samples) {
    std::vector<Group> groups;
    for (const DocsSample& sample : samples) {
        groups.push_back(group_of(sample));
    }
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    return groups;
}

std::string versions(const std::vector<DocsSample>& samples) {
    std::string text;
    for (const std::string& name : peers_of(samples)) {
        const auto first = std::find_if(samples.begin(), samples.end(),
                                        [&](const DocsSample& s) { return s.peer->name == name; });
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", peer_title(name),
                            first->peer->version);
    }
    return text;
}

}  // namespace

double geometric_mean(const std::vector<double>& values) {
    require(!values.empty(), Status::invalid_argument, "a mean of no rows");
    double logarithms = 0;
    for (const double value : values) {
        logarithms += std::log(value);
    }
    return std::exp(logarithms / static_cast<double>(values.size()));
}

std::string docs_comparison(DocsEvidence& evidence, const DocsBlock& block) {
    const auto [samples, left_out] = compared(evidence, block);
    const std::vector<Group> groups = groups_of(samples);
    std::vector<TextTable::Column> columns{{"peer's time / ours"}};
    for (const Group& group : groups) {
        columns.push_back({group.name(), Align::right});
    }
    for (const char* title : {"all", "least", "shapes", "our error / its error"}) {
        columns.push_back({title, Align::right});
    }
    TextTable table(std::move(columns));
    const std::vector<std::string> peers = peers_of(samples);
    for (const std::string& peer : peers) {
        Ratios ratios;
        for (const DocsSample& sample : samples) {
            if (sample.peer->name == peer) {
                ratios[group_of(sample)].push_back(sample.ratio);
            }
        }
        table.add(summary_line(peer_title(peer), ratios, groups, error_cell(samples, peer)));
    }
    if (peers.size() > 1) {
        table.add(summary_line("the best of them on each shape", best_ratios(samples), groups, ""));
    }
    return fmt::format(
        "{}\n\n`{}` in {}; geometric means, over 1 where ours is faster. {}.{}\n\n{}",
        docs_heading(samples), samples.front().about.kernel,
        samples.front().about.workload.at("dtype").get<std::string>(), versions(samples), left_out,
        table.markdown());
}

std::string docs_lengths(DocsEvidence& evidence, const DocsBlock& block) {
    const auto [samples, left_out] = compared(evidence, block);
    const std::vector<std::string> peers = peers_of(samples);
    std::map<std::int64_t, int> lengths;
    std::map<std::pair<Group, std::int64_t>, std::string> cells;
    std::map<std::pair<Group, std::int64_t>, double> rates;
    for (const std::string& peer : peers) {
        for (const DocsSample& sample : samples) {
            if (sample.peer->name == peer) {
                const std::int64_t length = sample.workload.seqlen_q;
                lengths[length] = 1;
                std::string& cell = cells[{group_of(sample), length}];
                cell += fmt::format("{}{:.2f}", cell.empty() ? "" : " / ", sample.ratio);
                rates[{group_of(sample), length}] =
                    sample.workload.flops() / sample.measured->seconds_median;
            }
        }
    }
    std::string titles;
    for (const std::string& peer : peers) {
        titles += (titles.empty() ? "" : " / ") + peer_title(peer);
    }
    const std::int64_t longest = lengths.rbegin()->first;
    std::vector<TextTable::Column> columns{{"tokens"}};
    for (const auto& [length, one] : lengths) {
        columns.push_back({std::to_string(length), Align::right});
    }
    columns.push_back({fmt::format("ours at {}", longest), Align::right});
    TextTable table(std::move(columns));
    for (const Group& group : groups_of(samples)) {
        std::vector<std::string> line{group.name()};
        for (const auto& [length, one] : lengths) {
            line.push_back(cells[{group, length}]);
        }
        line.push_back(format_si(rates[{group, longest}], "FLOP/s"));
        table.add(std::move(line));
    }
    return fmt::format("{}\n\nTime of {} over that of `{}`.{}\n\n{}", docs_heading(samples), titles,
                       samples.front().about.kernel, left_out, table.markdown());
}

namespace {

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
        by_form[sample->peer->backend].push_back(sample->ratio);
        const auto at = fastest.try_emplace(format_shape(sample->workload), sample->ratio).first;
        at->second = std::min(at->second, sample->ratio);
    }
    std::vector<std::string> line{title, std::to_string(fastest.size())};
    for (const auto& [form, one] : forms) {
        line.push_back(mean_cell(by_form[form]));
    }
    std::vector<double> least;
    for (const auto& [shape, ratio] : fastest) {
        least.push_back(ratio);
    }
    line.push_back(mean_cell(least));
    return line;
}

}  // namespace

std::string docs_forms(DocsEvidence& evidence, const DocsBlock& block) {
    const auto [samples, left_out] = settled_rows(evidence, block);
    std::map<std::string, int> forms;
    std::vector<std::pair<std::string, std::vector<const DocsSample*>>> cases;
    for (const DocsSample& sample : samples) {
        forms[sample.peer->backend] = 1;
        const std::string name = form_case(sample);
        auto at = std::find_if(cases.begin(), cases.end(),
                               [&](const auto& one) { return one.first == name; });
        if (at == cases.end()) {
            at = cases.insert(at, {name, {}});
        }
        at->second.push_back(&sample);
    }
    std::vector<TextTable::Column> columns{{"its time / ours"}, {"shapes", Align::right}};
    for (const auto& [form, one] : forms) {
        columns.push_back({"`" + form + "`", Align::right});
    }
    columns.push_back({"its fastest form", Align::right});
    TextTable table(std::move(columns));
    for (const auto& [name, members] : cases) {
        table.add(form_line(name, members, forms));
    }
    return fmt::format("{}\n\n`{}` beside {}; geometric means.{}\n\n{}", docs_heading(samples),
                       samples.front().about.kernel, versions(samples), left_out, table.markdown());
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
    TextTable table({{"logits"},
                     {"calls", Align::right},
                     {"geometric mean", Align::right},
                     {"at most", Align::right}});
    for (const auto& [logits, quotients] : by_logits) {
        table.add({logits, std::to_string(quotients.size()),
                   fmt::format("{:.3f}", geometric_mean(quotients)),
                   fmt::format("{:.3f}", *std::max_element(quotients.begin(), quotients.end()))});
    }
    return fmt::format("{}\n\nRelative RMS error of `{}` over that of {}.\n\n{}",
                       docs_heading(samples), samples.front().about.kernel,
                       peer_title(samples.front().peer->name), table.markdown());
}

}  // namespace raceline
