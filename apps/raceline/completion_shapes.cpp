// SPDX-License-Identifier: Apache-2.0
#include "completion_shapes.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "help.hpp"
#include "raceline/error.hpp"
#include "report/size_sweep.hpp"
#include "support/nearest.hpp"
#include "workload/operation.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::cli {
namespace {

std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> words;
    while (!text.empty()) {
        words.push_back(text.substr(0, text.find(' ')));
        text.remove_prefix(std::min(words.back().size() + 1, text.size()));
    }
    return words;
}

// `other_names` has spaces between them.
bool is_called(std::string_view given, std::string_view name, std::string_view other_names) {
    return same_word(given, name) ||
           std::ranges::any_of(words_of(other_names),
                               [&](std::string_view other) { return same_word(given, other); });
}

// A shape that ends in the middle of a field.
struct UnfinishedShape {
    std::vector<std::string> fields;  // finished: "h=8", "causal"
    std::string field;                // the name at the end
    bool has_value = false;           // whether an equals sign follows that name
    std::string before;               // all of the text before that name

    explicit UnfinishedShape(const std::string& text) {
        std::size_t from = 0;
        for (std::size_t comma = text.find(','); comma != std::string::npos;
             comma = text.find(',', from)) {
            fields.push_back(text.substr(from, comma - from));
            from = comma + 1;
        }
        before = text.substr(0, from);
        const std::size_t equals = text.find('=', from);
        has_value = equals != std::string::npos;
        field = text.substr(from, has_value ? equals - from : equals);
    }

    [[nodiscard]] std::string operation() const {
        for (const std::string& one : fields) {
            const std::size_t equals = one.find('=');
            if (equals != std::string::npos && same_word(one.substr(0, equals), "op")) {
                return spelled_operation(one.substr(equals + 1));
            }
        }
        return Workload{}.op;
    }

    // `other_names` has spaces between them.
    [[nodiscard]] bool has(std::string_view name, std::string_view other_names = {}) const {
        return std::ranges::any_of(fields, [&](const std::string& one) {
            return is_called(std::string_view(one).substr(0, one.find('=')), name, other_names);
        });
    }
};

// The grammar reads each of these pairs as one field.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> one_field{
    {{"causal", "full"}, {"d", "mla"}}};

bool is_open(const UnfinishedShape& shape, const ShapeField& field) {
    return !shape.has(field.name, field.aliases) &&
           std::ranges::none_of(shape_fields(), [&](const ShapeField& other) {
               return std::ranges::any_of(one_field, [&](const auto& pair) {
                   const bool paired = (field.name == pair.first && other.name == pair.second) ||
                                       (field.name == pair.second && other.name == pair.first);
                   return paired && shape.has(other.name, other.aliases);
               });
           });
}

// The fields that the shape does not have yet, each with its equals sign where it takes a value.
Offers open_fields(const UnfinishedShape& shape) {
    const std::string op = shape.operation();
    const bool attention = op == Workload{}.op;
    Offers words;
    if (!attention) {
        for (const OperationField& field : named_operation(op).record->fields.value) {
            if (field.kind != FieldKind::chain && !shape.has(field.name)) {
                words.push_back({fmt::format("{}=", field.name), std::string(field.meaning)});
            }
        }
    }
    for (const ShapeField& field : shape_fields()) {
        if ((attention || field.of_all) && is_open(shape, field)) {
            const bool valued = field.written != field.name;
            // The grammar words its fields for attention, which has a Q.
            const std::string_view meaning =
                attention || field.name != "dtype" ? field.meaning : "type of its tensors";
            words.push_back(
                {fmt::format("{}{}", field.name, valued ? "=" : ""), std::string(meaning)});
            // Its other names where one of them was begun: all would hide what there is.
            for (const std::string_view other : words_of(attention ? field.aliases : "")) {
                if (!shape.field.empty() &&
                    same_word(other.substr(0, shape.field.size()), shape.field)) {
                    words.push_back({fmt::format("{}=", other), std::string(meaning)});
                }
            }
        }
    }
    return words;
}

// Names of operations and of steps; `written` is what stands there so far.
Offers named_operations(const std::string& written) {
    const std::size_t plus = written.rfind('+');
    const std::string before = plus == std::string::npos ? "" : written.substr(0, plus + 1);
    Offers words;
    for (const OperationRecord* operation : all_operations()) {
        if (operation->chain != nullptr) {
            for (const std::string_view step : operation->chain->steps) {
                words.push_back({before + std::string(step), ""});
            }
        } else if (operation->name.value != Workload{}.op && before.empty()) {
            words.push_back(
                {std::string(operation->name.value), std::string(operation->summary.value)});
        }
    }
    return words;
}

// The values of a field that takes one of a few words.
Offers values_of_field(const UnfinishedShape& shape, const std::string& written) {
    Offers words;
    if (same_word(shape.field, "op")) {
        words = named_operations(written);
        words.push_back({Workload{}.op, ""});
        return words;
    }
    const bool attention = shape.operation() == Workload{}.op;
    const bool of_cache = attention && is_called(shape.field, "kv", "kv_dtype");
    if (of_cache || is_called(shape.field, "dtype", attention ? "type" : "")) {
        for (const std::string& type : of_cache ? names_of_cache_dtypes() : names_of_dtypes()) {
            words.push_back({type, ""});
        }
        return words;
    }
    for (const ShapeField& field : shape_fields()) {
        if ((field.of_all || attention) && is_called(shape.field, field.name, field.aliases)) {
            for (const std::string_view choice : field.choices) {
                words.push_back({std::string(choice), ""});
            }
        }
    }
    const OperationRecord& operation = *named_operation(shape.operation()).record;
    if (same_word(shape.field, "pass")) {
        for (const std::string_view pass : operation.passes) {
            words.push_back({std::string(pass), ""});
        }
    }
    for (const OperationField& field : operation.fields.value) {
        if (same_word(shape.field, field.name)) {
            for (const std::string_view choice : field.choices) {
                words.push_back({std::string(choice), ""});
            }
        }
    }
    return words;
}

Offers continuations(const std::string& text) {
    const UnfinishedShape shape(text);
    if (!shape.has_value) {
        Offers words = open_fields(shape);
        for (Offer& word : words) {
            word.text.insert(0, shape.before);
        }
        return words;
    }
    const std::string before = shape.before + shape.field + "=";
    Offers words = values_of_field(shape, text.substr(before.size()));
    for (Offer& word : words) {
        word.text.insert(0, before);
    }
    return words;
}

// Whether the shape is a problem at one size more.
bool is_a_size_of(const std::string& shape, std::string_view field) {
    constexpr std::int64_t some_size = 64;
    try {
        (void)problem_of_size(shape, field, some_size);
        return true;
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

Offers shapes_of(const UnfinishedLine& line) {
    return continuations(line.word);
}

Offers operations_of(const UnfinishedLine& line) {
    const std::string shape = operation_shape(line.word);
    const std::size_t added = shape.size() - line.word.size();  // 0 behind an op= of the user's
    if (line.word.find(',') == std::string::npos) {
        constexpr std::size_t op = 3;
        Offers words = named_operations(shape.substr(op));
        for (Offer& word : words) {
            word.text.insert(0, line.word.substr(0, op - added));
        }
        return words;
    }
    Offers words = continuations(shape);
    for (Offer& word : words) {
        word.text.erase(0, added);
    }
    return words;
}

Offers ranges_of(const UnfinishedLine& line) {
    const std::string named = line.value_of("--op");
    const std::string shape =
        named.empty() ? std::string(line.value_of("--shape")) : operation_shape(named);
    if (line.word.find('=') != std::string::npos || shape.empty()) {
        return {};
    }
    const std::string op = UnfinishedShape(shape + ",").operation();
    Offers words;
    for (const auto& [name, meaning] : varied_sizes(*named_operation(op).record)) {
        if (is_a_size_of(shape, name)) {
            words.push_back({fmt::format("{}=", name), std::string(meaning)});
        }
    }
    return words;
}

}  // namespace raceline::cli
