// SPDX-License-Identifier: Apache-2.0
#include "support/table_layout.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace raceline {
namespace {

using Column = TextTable::Column;
using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t gap = 2;        // between two columns
constexpr std::size_t narrowest = 8;  // no text is broken into less

std::size_t widest_cell(const Column& column, const Rows& rows, std::size_t at) {
    std::size_t width = text_width(column.title);
    for (const auto& row : rows) {
        width = std::max(width, text_width(row[at]));
    }
    return width;
}

// Gives the cells of a column their shorter forms, but for those that another cell would share.
// Whether any lost what its shorter form does not tell: then that has an ellipsis.
bool shorten(const Column& column, Rows& rows, std::size_t at) {
    std::map<std::string, std::string> longer;  // by short form; empty: of several cells
    for (const auto& row : rows) {
        const auto [known, is_new] = longer.emplace(column.shortened(row[at]), row[at]);
        if (!is_new && known->second != row[at]) {
            known->second.clear();
        }
    }
    bool any_lost = false;
    for (auto& row : rows) {
        std::string text = column.shortened(row[at]);
        if (text != row[at] && longer.at(text) == row[at]) {
            row[at] = std::move(text);
            any_lost = any_lost || row[at].find("…") != std::string::npos;
        }
    }
    return any_lost;
}

// The longest part of a column's cells that is broken only inside of a word.
std::size_t longest_piece(const Rows& rows, std::size_t at) {
    constexpr std::size_t most = 20;  // a hash or the like may be broken anywhere
    std::size_t longest = 0;
    for (const auto& row : rows) {
        const std::string_view cell = row[at];
        for (std::size_t from = 0; from < cell.size();) {
            const std::size_t end = std::min(cell.find_first_of(" ,;/_", from), cell.size());
            const std::size_t kept = end < cell.size() && cell[end] != ' ' ? 1 : 0;
            longest = std::max(longest, text_width(cell.substr(from, end + kept - from)));
            from = end + 1;
        }
    }
    return std::min(longest, most);
}

// A column that is still in the table.
struct Candidate {
    std::size_t column = 0;
    std::size_t natural = 0;  // of its widest cell
    std::size_t width = 0;    // that it gets
    std::size_t piece = 0;    // its longest part that is one word
};

std::size_t width_of(const std::vector<Candidate>& all) {
    std::size_t sum = all.empty() ? 0 : gap * (all.size() - 1);
    for (const Candidate& one : all) {
        sum += one.width;
    }
    return sum;
}

std::vector<Candidate> candidates(const std::vector<Column>& columns, const Rows& rows) {
    std::vector<Candidate> all;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        const std::size_t natural = widest_cell(columns[c], rows, c);
        all.push_back({c, natural, natural, longest_piece(rows, c)});
    }
    return all;
}

bool is_same_in_all(const Rows& rows, std::size_t column) {
    return std::ranges::all_of(rows, [&](const std::vector<std::string>& row) {
        return row[column] == rows.front()[column];
    });
}

// Takes columns out of which every row says the same, the widest first, until the rest fits. One
// row alone says it best in its place, unless it says nothing there; and one column stays.
std::vector<std::size_t> take_same(const Rows& rows, std::vector<Candidate>& all,
                                   std::size_t most) {
    std::vector<std::size_t> taken;
    while (!rows.empty() && all.size() > 1 && width_of(all) > most) {
        auto widest = all.end();
        for (auto one = all.begin(); one != all.end(); ++one) {
            const bool worth_it = rows.size() > 1 || rows.front()[one->column].empty();
            if (worth_it && is_same_in_all(rows, one->column) &&
                (widest == all.end() || one->natural > widest->natural)) {
                widest = one;
            }
        }
        if (widest == all.end()) {
            break;
        }
        taken.push_back(widest->column);
        all.erase(widest);
    }
    std::ranges::sort(taken);
    return taken;
}

// Breaks what may be broken before a column of this priority leaves.
void break_texts(const std::vector<Column>& columns, std::vector<Candidate>& all, int priority) {
    for (Candidate& one : all) {
        const Column& column = columns[one.column];
        if (column.least > 0 && column.broken_before <= priority) {
            one.width = std::min(one.natural,
                                 std::max({column.least, text_width(column.title), one.piece}));
        }
    }
}

// Lets columns leave, the lowest priority first and of equal ones the last, until the rest fits.
void drop_columns(const std::vector<Column>& columns, std::vector<Candidate>& all, std::size_t most,
                  std::vector<bool>& dropped) {
    while (width_of(all) > most) {
        auto least = all.end();
        for (auto one = all.begin(); one != all.end(); ++one) {
            if (least == all.end() ||
                columns[one->column].priority <= columns[least->column].priority) {
                least = one;
            }
        }
        const int priority =
            least == all.end() ? TextTable::always : columns[least->column].priority;
        break_texts(columns, all, priority);
        if (priority == TextTable::always) {
            return;
        }
        if (width_of(all) > most) {
            dropped[least->column] = true;
            all.erase(least);
        }
    }
}

// Lets columns back for which there is room after all, the highest priority first and of equal ones
// the first: one that is too wide does not keep narrower ones out.
void take_back_columns(const std::vector<Column>& columns, const Rows& rows,
                       std::vector<Candidate>& all, std::size_t most, std::vector<bool>& dropped) {
    std::vector<std::size_t> order;
    for (std::size_t c = 0; c < columns.size(); ++c) {
        if (dropped[c]) {
            order.push_back(c);
        }
    }
    std::ranges::sort(order, {}, [&](std::size_t c) { return std::pair(-columns[c].priority, c); });
    for (const std::size_t c : order) {
        const std::size_t natural = widest_cell(columns[c], rows, c);
        if (width_of(all) + gap + natural <= most) {
            const auto after =
                std::ranges::find_if(all, [&](const Candidate& one) { return one.column > c; });
            all.insert(after, {c, natural, natural, longest_piece(rows, c)});
            dropped[c] = false;
        }
    }
}

// Takes what is too much from the widest texts; inside of words only if `inside`.
void break_widest(const std::vector<Column>& columns, std::vector<Candidate>& all, std::size_t most,
                  bool inside) {
    while (width_of(all) > most) {
        Candidate* widest = nullptr;
        for (Candidate& one : all) {
            const std::size_t least = inside ? narrowest : std::max(narrowest, one.piece);
            if (columns[one.column].align == TextTable::Align::left && one.width > least &&
                (widest == nullptr || one.width > widest->width)) {
                widest = &one;
            }
        }
        if (widest == nullptr) {
            return;  // nothing helps
        }
        --widest->width;
    }
}

void use_what_is_left(std::vector<Candidate>& all, std::size_t most) {
    for (Candidate& one : all) {
        const std::size_t left = most - std::min(most, width_of(all));
        one.width += std::min(left, one.natural - one.width);
    }
}

}  // namespace

TableLayout table_layout(const std::vector<Column>& columns, Rows& rows, std::size_t most) {
    TableLayout layout;
    std::vector<Candidate> all = candidates(columns, rows);
    std::vector<bool> dropped(columns.size());
    if (most > 0 && width_of(all) > most) {
        for (std::size_t c = 0; c < columns.size(); ++c) {
            if (columns[c].shortened != nullptr && shorten(columns[c], rows, c)) {
                layout.shortened.push_back(columns[c].title);
            }
        }
        all = candidates(columns, rows);
    }
    if (most > 0 && width_of(all) > most) {
        for (const std::size_t column : take_same(rows, all, most)) {
            if (const std::string& cell = rows.front()[column]; !cell.empty()) {
                layout.same.push_back(columns[column].title + " = " + cell);
            }
        }
        drop_columns(columns, all, most, dropped);
        take_back_columns(columns, rows, all, most, dropped);
        break_widest(columns, all, most, false);
        break_widest(columns, all, most, true);
        use_what_is_left(all, most);
    }
    for (const Candidate& one : all) {
        layout.shown.push_back({one.column, one.width});
    }
    for (std::size_t c = 0; c < columns.size(); ++c) {
        if (dropped[c]) {
            layout.left_out.push_back(columns[c].title);
        }
    }
    return layout;
}

}  // namespace raceline
