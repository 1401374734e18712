// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
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

using Ratios = std::map<Group, std::vector<double>>;

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

}  // namespace

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
        samples.front().about.workload.at("dtype").get<std::string>(), peer_versions(samples),
        left_out, table.markdown());
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

}  // namespace raceline
