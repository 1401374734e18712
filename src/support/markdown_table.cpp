// SPDX-License-Identifier: Apache-2.0
// A table as a page has it. A reader of its source, or of a terminal, sees no more than a hundred
// columns: a wider one becomes several, and says once what all rows share.
#include <algorithm>
#include <vector>

#include "support/text_table.hpp"

namespace raceline {
namespace {

constexpr std::size_t page_columns = 100;
/// Names of rows that take more than this leave too little room for what they name.
constexpr std::size_t most_of_names = 60;

using Rows = std::vector<std::vector<std::string>>;
using Places = std::vector<std::size_t>;

std::string cell_text(const std::string& cell) {
    std::string out;
    for (const char c : cell) {
        out += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
    }
    return out;
}

class MarkdownTable {
public:
    MarkdownTable(const std::vector<TextTable::Column>& columns, const Rows& rows)
        : columns_(columns), rows_(rows) {}

    [[nodiscard]] std::string text(Places at, const std::string& group) const {
        std::string before;
        if (!fits(at)) {
            before = take_shared(at);
        }
        const std::size_t names = names_of(at);
        if (!fits(at) && names > 1 &&
            width(Places(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(names))) >
                most_of_names) {
            return by_first(at, group, before);
        }
        std::string out = heading(group) + before;
        bool first = true;
        const std::vector<Places> all = parts(at, names);
        for (const Places& part : all) {
            out += (first ? "" : "\n") +
                   (fits(part) ? plain(part, names, all.size() > 1) : list(part, names));
            first = false;
        }
        return out;
    }

private:
    [[nodiscard]] static std::string heading(const std::string& group) {
        return group.empty() ? "" : "**" + group + "**\n\n";
    }

    [[nodiscard]] std::size_t width(const Places& at) const {
        std::size_t sum = 1;
        for (const std::size_t column : at) {
            std::size_t widest = text_width(columns_[column].title);
            for (const auto& row : rows_) {
                widest = std::max(widest, text_width(cell_text(row[column])));
            }
            sum += widest + 3;
        }
        return sum;
    }
    [[nodiscard]] bool fits(const Places& at) const { return width(at) <= page_columns; }

    /// How many of the first columns say what a row is about; at least one.
    [[nodiscard]] std::size_t names_of(const Places& at) const {
        std::size_t count = 0;
        while (count < at.size() && columns_[at[count]].align == TextTable::Align::left &&
               columns_[at[count]].priority == TextTable::always) {
            ++count;
        }
        return std::max<std::size_t>(count, 1);
    }

    /// Columns behind the first that say one thing in every row leave; the sentence that says it.
    [[nodiscard]] std::string take_shared(Places& at) const {
        std::string shared;
        Places kept;
        for (std::size_t i = 0; i < at.size(); ++i) {
            const std::size_t column = at[i];
            const bool same =
                i > 0 && rows_.size() > 1 && std::ranges::all_of(rows_, [&](const auto& row) {
                    return row[column] == rows_.front()[column];
                });
            if (!same) {
                kept.push_back(column);
            } else if (!rows_.front()[column].empty()) {
                shared += (shared.empty() ? "In every row: " : "; ") + columns_[column].title +
                          " " + rows_.front()[column];
            }
        }
        at = std::move(kept);
        return shared.empty() ? "" : shared + ".\n\n";
    }

    /// A table for each value of the first column, which is its heading.
    [[nodiscard]] std::string by_first(const Places& at, const std::string& group,
                                       const std::string& before) const {
        const Places rest(at.begin() + 1, at.end());
        std::string out = before;
        for (std::size_t begin = 0; begin < rows_.size();) {
            std::size_t end = begin;
            Rows members;
            while (end < rows_.size() && rows_[end][at[0]] == rows_[begin][at[0]]) {
                members.push_back(rows_[end++]);
            }
            const std::string name =
                (group.empty() ? "" : group + ", ") + cell_text(rows_[begin][at[0]]);
            out += (begin == 0 ? "" : "\n") + MarkdownTable(columns_, members).text(rest, name);
            begin = end;
        }
        return out;
    }

    /// Columns of tables that fit, each with the names of its rows.
    [[nodiscard]] std::vector<Places> parts(const Places& at, std::size_t names) const {
        const Places kept(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(names));
        std::vector<Places> parts{kept};
        for (std::size_t i = names; i < at.size(); ++i) {
            if (std::ranges::all_of(rows_, [&](const auto& row) { return row[at[i]].empty(); }) &&
                !fits(at)) {
                continue;
            }
            parts.back().push_back(at[i]);
            if (!fits(parts.back()) && parts.back().size() > names + 1) {
                parts.back().pop_back();
                parts.push_back(kept);
                parts.back().push_back(at[i]);
            }
        }
        return parts;
    }

    [[nodiscard]] std::string plain(const Places& at, std::size_t names, bool split) const {
        std::string text = "|";
        for (const std::size_t column : at) {
            text += " " + cell_text(columns_[column].title) + " |";
        }
        text += "\n|";
        for (const std::size_t column : at) {
            text += columns_[column].align == TextTable::Align::left ? "---|" : "---:|";
        }
        text += '\n';
        for (const auto& row : rows_) {
            // A part of a table that was too wide leaves out whom it says nothing of.
            if (split && std::all_of(at.begin() + static_cast<std::ptrdiff_t>(names), at.end(),
                                     [&](std::size_t column) { return row[column].empty(); })) {
                continue;
            }
            text += "|";
            for (const std::size_t column : at) {
                text += " " + cell_text(row[column]) + " |";
            }
            text += '\n';
        }
        return text;
    }

    /// What no table of this width can hold: a long text for each name.
    [[nodiscard]] std::string list(const Places& at, std::size_t names) const {
        std::string text = columns_[at.back()].title + ":\n\n";
        for (const auto& row : rows_) {
            for (std::size_t i = 0; i < at.size(); ++i) {
                text += (i == 0 ? "- " : i < names ? ", " : ": ") + row[at[i]];
            }
            text += '\n';
        }
        return text;
    }

    const std::vector<TextTable::Column>& columns_;
    const Rows& rows_;
};

}  // namespace

std::string TextTable::markdown() const {
    Places all(columns_.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        all[i] = i;
    }
    return MarkdownTable(columns_, rows_).text(all, "");
}

}  // namespace raceline
