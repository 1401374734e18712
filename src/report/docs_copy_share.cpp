// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "report/docs_tables.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr double least_bytes = 256e6;

double moved_bytes(const DocsSample& sample) {
    return sample.workload.bytes_read() + sample.workload.bytes_written();
}

// Of one that settled, which has been measured.
double measured_seconds(const DocsSample& sample) {
    return sample.measured ? sample.measured->seconds_median : 0;
}

// Of the copy ceiling; it stands in what the run wrote about its device.
double copy_share(const DocsSample& sample) {
    return moved_bytes(sample) / measured_seconds(sample) / sample.copy;
}

bool is_large_and_memory_bound(const DocsSample& sample) {
    return sample.settled() && sample.passed && sample.about.op != "attention" &&
           sample.bound_limiter == "dram" && moved_bytes(sample) >= least_bytes;
}

double share_goal(const DocsBlock& block) {
    const std::string& text = block.at("goal");
    int percent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
    require(
        error == std::errc() && end == text.data() + text.size() && percent >= 1 && percent <= 100,
        Status::invalid_argument, "goal={} must be a whole number of percent, from 1 to 100", text);
    return percent / 100.0;
}

std::string share_text(double part) {
    return fmt::format("{:.1f}", 100 * part);
}

// Without words that say nothing here, so that five columns fit a page.
std::string operation_text(const DocsSample& sample) {
    std::string shape = format_shape(sample.workload);
    for (const std::string_view word : {"op=", "dtype="}) {
        if (const std::size_t at = shape.find(word); at != std::string::npos) {
            shape.erase(at, word.size());
        }
    }
    return "`" + shape + "`";
}

// An operation as it was measured last, and the share of its first measurement, if that was
// another.
struct LastShare {
    DocsSample sample;
    std::optional<double> first;
};

std::vector<LastShare> last_of_each(std::vector<DocsSample> samples) {
    std::ranges::sort(samples, {}, [](const DocsSample& sample) {
        return std::pair(sample.written, format_shape(sample.workload));
    });
    std::map<std::pair<std::string, std::string>, LastShare> by_operation;
    for (DocsSample& sample : samples) {
        const auto [its, is_first] = by_operation.try_emplace(
            {sample.about.kernel, format_shape(sample.workload)}, LastShare{sample, {}});
        if (!is_first) {
            its->second.first = its->second.first.value_or(copy_share(its->second.sample));
            its->second.sample = std::move(sample);
        }
    }
    std::vector<LastShare> last;
    for (auto& [operation, share] : by_operation) {
        last.push_back(std::move(share));
    }
    return last;
}

std::string share_table(std::span<const LastShare> shares) {
    TextTable table("operation | >moved | >measured | >% of copy | at");
    for (const auto& [sample, first] : shares) {
        const std::string commit = sample.commit.substr(0, 7);
        table.add({operation_text(sample), format_si(moved_bytes(sample), "B"),
                   format_seconds(measured_seconds(sample)),
                   share_text(copy_share(sample)) + (first ? " (" + share_text(*first) + ")" : ""),
                   sample.changed ? "*" + commit + "*" : commit});
    }
    return table.markdown();
}

// Of many files, so that their names stand in the marker and in docs/evidence.json alone.
std::string share_heading(std::span<const DocsSample> samples) {
    static_cast<void>(docs_heading(samples));  // refuses what is not to be compared
    std::set<std::string> files, dates;
    bool changed = false;
    double least = samples.front().copy, most = least;
    for (const DocsSample& sample : samples) {
        require(sample.copy > 0, Status::invalid_argument, "{} has no measured copy ceiling",
                sample.file);
        files.insert(sample.file);
        dates.insert(sample.date);
        changed = changed || sample.changed;
        least = std::min(least, sample.copy);
        most = std::max(most, sample.copy);
    }
    std::string ceiling = format_si(least, "B/s");
    if (const std::string other = format_si(most, "B/s"); other != ceiling) {
        ceiling += " to " + other;
    }
    const std::string days = files.size() == 1 || dates.size() == 1
                                 ? *dates.begin()
                                 : *dates.begin() + " to " + *dates.rbegin();
    return fmt::format("*{}, {}, {}, {}; copy ceiling {}, `byte.dram_copy`.{}*",
                       samples.front().about.device.name, samples.front().regime,
                       counted_text(files.size(), "receipt"), days, ceiling,
                       changed ? " Where the code has changed since, the commit is slanted." : "");
}

}  // namespace

std::string docs_copy_share(DocsEvidence& evidence, const DocsBlock& block) {
    const double goal = share_goal(block);
    std::vector<DocsSample> samples = evidence.samples(block);
    std::erase_if(samples,
                  [](const DocsSample& sample) { return !is_large_and_memory_bound(sample); });
    require(!samples.empty(), Status::invalid_argument,
            "no settled row of these is bound by memory and moves 256 MB or more");
    const std::string heading = share_heading(samples);
    std::vector<LastShare> shares = last_of_each(std::move(samples));
    std::ranges::sort(shares, {}, [](const LastShare& share) {
        return std::pair(copy_share(share.sample), format_shape(share.sample.workload));
    });
    const std::span<const LastShare> all(shares);
    const auto met = std::ranges::find_if(
        all, [&](const LastShare& share) { return copy_share(share.sample) >= goal; });
    const auto missed = all.first(static_cast<std::size_t>(met - all.begin()));
    const auto others = all.subspan(missed.size());
    std::string text = fmt::format(
        "{}\n\nThe goal is {:.0f} %. As each was measured last, it is missed by {} of {}", heading,
        100 * goal, missed.size(), counted_text(all.size(), "operation"));
    text += missed.empty() ? ".\n" : ":\n\n" + share_table(missed);
    return others.empty() ? text : text + "\nIt is met by:\n\n" + share_table(others);
}

}  // namespace raceline
