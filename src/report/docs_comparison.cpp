// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>
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
    std::string operation;  // beside attention: its chain
    std::int64_t headdim = 0;
    Mask mask = Mask::full;
    auto operator<=>(const Group&) const = default;
    [[nodiscard]] std::string name() const {
        return !operation.empty()
                   ? operation
                   : fmt::format("d{} {}", headdim, mask == Mask::full ? "full" : "causal");
    }
    /// The same where many stand side by side.
    [[nodiscard]] std::string title() const {
        return !operation.empty()
                   ? operation
                   : fmt::format("d{}{}", headdim, mask == Mask::full ? "" : " causal");
    }
};

Group group_of(const DocsSample& sample) {
    const Workload& w = sample.workload;
    if (w.op == "attention") {
        return {"", w.headdim, w.mask};
    }
    // "op=add+relu,n=…"
    const std::string shape = format_shape(w);
    const std::size_t begin = shape.find('=') + 1;
    return {shape.substr(begin, shape.find(',') - begin)};
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
        if (peer_of(sample).name == peer) {
            beyond += is_beyond_bound(peer_of(sample).correctness) ? 1 : 0;
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
                                      const std::vector<Group>& groups) {
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
    groups.reserve(samples.size());
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
        columns.push_back({group.title(), Align::right});
    }
    for (const char* title : {"all", "least"}) {
        columns.push_back({title, Align::right});
    }
    TextTable table(std::move(columns));
    TextTable errors("peer | >shapes | >our error / its error; over 1: ours is larger");
    const std::vector<std::string> peers = peers_of(samples);
    for (const std::string& peer : peers) {
        Ratios ratios;
        for (const DocsSample& sample : samples) {
            if (peer_of(sample).name == peer) {
                ratios[group_of(sample)].push_back(sample.ratio);
            }
        }
        std::size_t shapes = 0;
        for (const auto& [group, of_group] : ratios) {
            shapes += of_group.size();
        }
        table.add(summary_line(peer_title(peer), ratios, groups));
        errors.add({peer_title(peer), std::to_string(shapes), error_cell(samples, peer)});
    }
    if (peers.size() > 1) {
        table.add(summary_line("the best of each", best_ratios(samples), groups));
    }
    return fmt::format(
        "{}\n\n`{}` in {}; geometric means, over 1 where ours is faster. {}.{}\n\n{}\n{}",
        docs_heading(samples), samples.front().about.kernel,
        samples.front().about.workload.at("dtype").get<std::string>(), peer_versions(samples),
        left_out, table.markdown(), errors.markdown());
}

std::string docs_lengths(DocsEvidence& evidence, const DocsBlock& block) {
    const auto [samples, left_out] = compared(evidence, block);
    const std::vector<std::string> peers = peers_of(samples);
    std::map<std::int64_t, int> lengths;
    std::map<std::tuple<Group, std::string, std::int64_t>, std::string> cells;
    for (const DocsSample& sample : samples) {
        lengths[sample.workload.seqlen_q] = 1;
        cells[{group_of(sample), peer_of(sample).name, sample.workload.seqlen_q}] =
            fmt::format("{:.2f}", sample.ratio);
    }
    std::vector<TextTable::Column> columns{{"shape"}, {"peer"}};
    for (const auto& [length, one] : lengths) {
        columns.push_back({std::to_string(length), Align::right});
    }
    TextTable table(std::move(columns));
    for (const Group& group : groups_of(samples)) {
        for (const std::string& peer : peers) {
            std::vector<std::string> line{group.name(), peer_title(peer)};
            for (const auto& [length, one] : lengths) {
                line.push_back(cells[{group, peer, length}]);
            }
            table.add(std::move(line));
        }
    }
    return fmt::format(
        "{}\n\nTime of each peer over that of `{}`, by tokens of a sequence.{}\n\n{}",
        docs_heading(samples), samples.front().about.kernel, left_out, table.markdown());
}

}  // namespace raceline
