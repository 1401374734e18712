// SPDX-License-Identifier: Apache-2.0
// Compulsory bytes of an operation by the types that it accepts, as a block of a page.
#include <fmt/ranges.h>

#include "report/docs_tables.hpp"
#include "support/check.hpp"
#include "support/text_table.hpp"
#include "workload/operation.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

/// Every way to write the operation's words, each as field=choice.
std::vector<std::vector<std::string>> choices_of(const OperationRecord& operation) {
    std::vector<std::vector<std::string>> all{{}};
    for (const OperationField& field : operation.fields.value) {
        if (field.kind != FieldKind::word) {
            continue;
        }
        std::vector<std::vector<std::string>> longer;
        for (const std::vector<std::string>& begun : all) {
            for (const std::string_view choice : field.choices) {
                longer.push_back(begun);
                longer.back().push_back(fmt::format("{}={}", field.name, choice));
            }
        }
        all = std::move(longer);
    }
    return all;
}

/// Empty if the operation does not take the type.
std::vector<std::string> cells_of(const std::string& shape, std::string_view type,
                                  const std::vector<std::string>& words) {
    const std::string text = fmt::format("{},{},dtype={}", shape, fmt::join(words, ","), type);
    try {
        const Workload w = parse_shape(text);
        const double elements =
            static_cast<double>(w.extent(grid_rows)) * static_cast<double>(w.extent(grid_width));
        std::vector<std::string> cells{fmt::format("`dtype={},{}`", type, fmt::join(words, ","))};
        for (const double bytes :
             {w.bytes_read(), w.bytes_written(), w.bytes_read() + w.bytes_written()}) {
            cells.push_back(fmt::format("{}", bytes / elements));
        }
        return cells;
    } catch (const Error&) {
        return {};
    }
}

}  // namespace

std::string docs_bytes(const DocsBlock& block) {
    const std::string shape = block.at("shape");
    using Align = TextTable::Align;
    TextTable table({{"types"},
                     {"bytes read", Align::right},
                     {"bytes written", Align::right},
                     {"bytes in all", Align::right}});
    for (const std::string_view type : {"fp32", "bf16", "fp16", "e4m3"}) {
        for (const auto& words : choices_of(find_operation(parse_shape(shape).op))) {
            if (auto cells = cells_of(shape, type, words); !cells.empty()) {
                table.add(std::move(cells));
            }
        }
    }
    return table.markdown();
}

}  // namespace raceline
