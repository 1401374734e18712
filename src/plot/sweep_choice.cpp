// SPDX-License-Identifier: Apache-2.0
// Which lines of many a picture shows.
#include <algorithm>
#include <functional>
#include <set>
#include <tuple>
#include <utility>

#include "plot/charts.hpp"
#include "plot/sweep_lines.hpp"
#include "registry/registry.hpp"

namespace raceline {
namespace {

// Whether a call may run it: neither a rung of the ladder nor a kernel that has left.
bool is_of_api(const std::string& kernel) {
    const Kernel* known = kernel_once_called(kernel);
    return known != nullptr && !known->ladder;
}

using Owner = std::pair<std::string, std::string>;  // device and kernel
Owner owner_of(const SweepKey& key) {
    return {key.device, key.kernel};
}

std::set<Owner> api_owners(const SweepLines& lines) {
    std::set<Owner> owners;
    for (const auto& [key, line] : lines) {
        if (is_of_api(key.kernel)) {
            owners.insert(owner_of(key));
        }
    }
    return owners;
}

std::string written_of(const SweepLine& line) {
    std::string last;
    for (const auto& [value, one] : line) {
        last = std::max(last, one->written);
    }
    return last;
}

// Of each kernel, tile and case the commit and the way that were measured last.
std::vector<SweepLines::const_iterator> newest_of(const SweepLines& all) {
    std::map<std::tuple<std::string, std::string, std::string, std::string>,
             SweepLines::const_iterator>
        newest;
    for (auto line = all.cbegin(); line != all.cend(); ++line) {
        const SweepKey& key = line->first;
        const auto [known, is_new] =
            newest.try_emplace({key.device, key.kernel, key.tile, key.rest}, line);
        if (!is_new && written_of(known->second->second) < written_of(line->second)) {
            known->second = line;
        }
    }
    std::vector<SweepLines::const_iterator> some;
    some.reserve(newest.size());
    for (const auto& [of, line] : newest) {
        some.push_back(line);
    }
    return some;
}

// At how many of its values no other of the lines takes less time for the same case.
std::map<SweepKey, std::size_t> wins_of(const std::vector<SweepLines::const_iterator>& lines) {
    using Case = std::tuple<std::string, std::string, double>;
    std::map<Case, double> least;
    const auto each = [&](const auto& take) {
        for (const auto& line : lines) {
            for (const auto& [value, one] : line->second) {
                take(line->first, Case(line->first.device, line->first.rest, value),
                     one->measured.seconds_median);
            }
        }
    };
    each([&](const SweepKey&, const Case& of, double seconds) {
        const auto known = least.try_emplace(of, seconds).first;
        known->second = std::min(known->second, seconds);
    });
    std::map<SweepKey, std::size_t> wins;
    each([&](const SweepKey& key, const Case& of, double seconds) {
        wins[key] += seconds <= least.at(of) ? 1 : 0;
    });
    return wins;
}

}  // namespace

SweepLines most_useful_lines(const SweepLines& all) {
    if (all.size() <= most_lines) {
        return all;
    }
    std::vector<SweepLines::const_iterator> lines = newest_of(all);
    const std::map<SweepKey, std::size_t> wins = wins_of(lines);
    std::ranges::sort(lines, std::greater(), [&](const auto& line) {
        return std::tuple(wins.at(line->first), line->second.size(), written_of(line->second),
                          line->first);
    });
    // How many lines of its kernel stand before a line: kernels take turns.
    std::map<Owner, std::size_t> before;
    using Turn = std::tuple<bool, std::size_t, std::size_t>;
    std::vector<std::pair<Turn, SweepLines::const_iterator>> order;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const SweepKey& key = lines[i]->first;
        order.emplace_back(Turn(!is_of_api(key.kernel), before[owner_of(key)]++, i), lines[i]);
    }
    std::ranges::sort(order, {}, [](const auto& one) { return one.first; });
    order.resize(std::min(order.size(), most_lines));
    SweepLines some;
    for (const auto& [turn, line] : order) {
        some.insert(*line);
    }
    return some;
}

std::vector<SweepLines> pieces_of(const SweepLines& all) {
    std::vector<SweepLines> pieces;
    for (auto line = all.cbegin(); line != all.cend();) {
        const Owner owner = owner_of(line->first);
        const auto end = std::find_if(
            line, all.cend(), [&](const auto& one) { return owner_of(one.first) != owner; });
        const auto count = static_cast<std::size_t>(std::distance(line, end));
        if (pieces.empty() || pieces.back().size() + count > most_lines) {
            pieces.emplace_back();
        }
        for (; line != end; ++line) {
            if (pieces.back().size() == most_lines) {
                pieces.emplace_back();
            }
            pieces.back().insert(*line);
        }
    }
    return pieces;
}

std::vector<std::string> further_fields(const TimedRows& rows, const std::string& first) {
    constexpr std::size_t most = 3;
    std::set<Owner> known = api_owners(lines_over(rows, first));
    std::vector<std::string> further;
    while (further.size() < most) {
        std::string best;
        std::size_t cases = 0;
        for (const std::string_view field : sweep_fields()) {
            std::size_t here = 0;
            for (const auto& [key, line] : lines_over(rows, field)) {
                const bool counts = is_of_api(key.kernel) && !known.contains(owner_of(key));
                here += counts ? line.size() : 0;
            }
            if (here > cases) {
                cases = here;
                best = field;
            }
        }
        if (best.empty()) {
            break;
        }
        known.merge(api_owners(lines_over(rows, best)));
        further.push_back(best);
    }
    return further;
}

std::map<std::string, std::string> kernels_elsewhere(const TimedRows& rows,
                                                     const std::vector<std::string>& fields) {
    std::set<Owner> known;
    for (const std::string& field : fields) {
        known.merge(api_owners(lines_over(rows, field)));
    }
    std::map<std::string, std::string> elsewhere;
    for (const std::string_view field : sweep_fields()) {
        for (const Owner& owner : api_owners(lines_over(rows, field))) {
            if (!known.contains(owner)) {
                elsewhere.try_emplace(owner.second, field);
            }
        }
    }
    return elsewhere;
}

}  // namespace raceline
