// SPDX-License-Identifier: Apache-2.0
#include "workload/operation_shape.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

#include "support/check.hpp"
#include "support/nearest.hpp"
#include "workload/operation.hpp"
#include "workload/shape_field.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr auto wrong = Status::invalid_argument;

/// "n a dtype op pass"
std::vector<std::string_view> names_of_fields(const OperationRecord& operation) {
    std::vector<std::string_view> names;
    for (const OperationField& field : operation.fields.value) {
        if (field.kind != FieldKind::chain) {
            names.push_back(field.name);
        }
    }
    names.insert(names.end(), {"dtype", "op", "pass"});
    return names;
}

// As somebody wrote it, whose capital letters do not matter.
std::string_view field_name(const OperationRecord& operation, std::string_view written) {
    const std::string_view known = same_among(written, names_of_fields(operation));
    return known.empty() ? written : known;
}

/// `op`: the operation as it was written.
const OperationField& find_field(const OperationRecord& operation, std::string_view op,
                                 std::string_view name) {
    for (const OperationField& field : operation.fields.value) {
        if (field.name == name) {
            return field;
        }
    }
    const std::vector<std::string_view> names = names_of_fields(operation);
    const std::string_view near = nearest(name.substr(0, 40), names);
    fail(wrong, "shape field {} is unknown to op={}; {}valid fields: {}", in_quotes(name), op,
         near.empty() ? "" : fmt::format("did you mean '{}'? ", near), fmt::join(names, " "));
}

bool has_field(const Workload& w, const OperationField& field) {
    switch (field.kind) {
        case FieldKind::real: return w.scalars.contains(field.name);
        case FieldKind::word:
        case FieldKind::chain: return w.words.contains(field.name);
        case FieldKind::grid:
            return w.extents.contains(grid_rows) && w.extents.contains(grid_width);
        case FieldKind::count:
        case FieldKind::own: break;
    }
    return w.extents.contains(field.name);
}

void set_grid(Workload& w, std::string_view name, std::string_view text) {
    const std::size_t times = text.find_first_of("xX");
    const bool both = times != std::string_view::npos;
    w.extents.emplace(grid_rows, both ? parse_count(name, text.substr(0, times)) : 1);
    w.extents.emplace(grid_width, parse_count(name, both ? text.substr(times + 1) : text));
}

void set_word(Workload& w, const OperationField& field, std::string_view text) {
    const std::string_view known = same_among(text, field.choices);
    const std::string_view near = nearest(text.substr(0, 40), field.choices);
    require(!known.empty(), wrong, "shape field '{}' is {}; {}it must be one of: {}", field.name,
            in_quotes(text), near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
            fmt::join(field.choices, " "));
    w.words.emplace(field.name, known);
}

void set_field(Workload& w, const OperationField& field, std::string_view text) {
    switch (field.kind) {
        case FieldKind::real: w.scalars.emplace(field.name, parse_real(field.name, text)); break;
        case FieldKind::grid: set_grid(w, field.name, text); break;
        case FieldKind::word: set_word(w, field, text); break;
        case FieldKind::chain:
            fail(wrong, "shape field '{}' is not written: the chain is the operation, as in op={}",
                 field.name, text.substr(0, 40));
        case FieldKind::count:
        case FieldKind::own: w.extents.emplace(field.name, parse_count(field.name, text)); break;
    }
}

void set_chain(Workload& w, const OperationRecord& operation, std::string_view chain) {
    for (const OperationField& field : operation.fields.value) {
        if (field.kind == FieldKind::chain) {
            w.words.emplace(field.name, chain);
        }
    }
}

/// "n=7x200" of "op=rmsnorm,n=7x200,dtype=fp32"; the whole text where it has no such field.
std::string_view field_of(std::string_view example, std::string_view name) {
    for (const std::string_view field : split_fields(example)) {
        if (field.substr(0, field.find('=')) == name) {
            return field;
        }
    }
    return example;
}

void fill_in_fallbacks(Workload& w, const OperationRecord& operation) {
    for (const OperationField& field : operation.fields.value) {
        if (has_field(w, field)) {
            continue;
        }
        require(!field.fallback.empty(), wrong,
                "shape field '{}' of op={} is missing ({}): give one such as {}", field.name,
                name_of_operation(w), field.meaning,
                field_of(operation.examples.value.front(), field.name));
        set_field(w, field, field.fallback);
    }
}

/// `name`: of the operation or chain, as a user writes it.
void require_pass(const OperationRecord& operation, std::string_view name,
                  const std::string& pass) {
    if (std::ranges::find(operation.passes, pass) != operation.passes.end()) {
        return;
    }
    const std::string_view near = nearest(std::string_view(pass).substr(0, 40), operation.passes);
    fail(wrong, "{} has no pass {}; {}{}", name, in_quotes(pass),
         near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
         operation.passes.size() == 1
             ? fmt::format("its only pass is {}", operation.passes.front())
             : fmt::format("its passes are {}", fmt::join(operation.passes, ", ")));
}

/// "rmsnorm" of a workload of `rows`; the record's own name where a file left the chain out.
std::string_view written_name(const OperationRecord& operation, const Workload& w) {
    for (const OperationField& field : operation.fields.value) {
        const auto chain = w.words.find(field.name);
        if (field.kind == FieldKind::chain && chain != w.words.end()) {
            return std::string_view(chain->second).substr(0, 80);
        }
    }
    return operation.name.value;
}

/// Every field that the record names, of its kind, and no other.
void require_fields(const OperationRecord& operation, const Workload& w) {
    for (const OperationField& field : operation.fields.value) {
        require(has_field(w, field), wrong, "field '{}' of op={} is missing ({})", field.name, w.op,
                field.meaning);
    }
    const bool grid = std::ranges::any_of(operation.fields.value, [](const OperationField& field) {
        return field.kind == FieldKind::grid;
    });
    for (const auto& [name, value] : w.extents) {
        const bool of_grid = grid && (name == grid_rows || name == grid_width);
        const bool extent = of_grid || find_field(operation, w.op, name).kind == FieldKind::count;
        require(extent && value >= 0, wrong, "field '{}' of op={} is {}: it must be {}", name, w.op,
                value, extent ? "0 or more" : "of another kind");
    }
    for (const auto& [name, value] : w.words) {
        const OperationField& field = find_field(operation, w.op, name);
        const bool known = field.kind == FieldKind::chain
                               ? named_operation(value).record == &operation
                               : std::ranges::find(field.choices, value) != field.choices.end();
        require(
            known, wrong, "field '{}' of op={} is {}: it must be {}", name, w.op, in_quotes(value),
            field.kind == FieldKind::word ? fmt::format("one of: {}", fmt::join(field.choices, " "))
                                          : std::string("a chain of its steps"));
    }
    for (const auto& [name, value] : w.scalars) {
        require(find_field(operation, w.op, name).kind == FieldKind::real, wrong,
                "field '{}' of op={} is {}: it must be an extent", name, w.op, value);
        require(std::isfinite(static_cast<float>(value)), wrong,
                "field '{}' of op={} is {}: it must be a number that fp32 holds", name, w.op,
                value);
    }
}

template <class Value>
bool is_of_type(const Json& value) {
    if constexpr (std::is_same_v<Value, std::string>) {
        return value.is_string();
    } else if constexpr (std::is_same_v<Value, double>) {
        return value.is_number();
    } else {
        return value.is_number_integer() && value >= 0 && value <= 0x7fffffff;
    }
}

template <class Values>
void read_values(Values& to, const Json& object, const char* member) {
    const auto found = object.find(member);
    require(found != object.end() && found->is_object(), Status::corrupt,
            "workload member '{}' is missing or no object", member);
    for (const auto& [name, value] : found->items()) {
        using Value = typename Values::mapped_type;
        const bool fits = is_of_type<Value>(value);
        require(fits, Status::corrupt, "workload member '{}.{}' has the wrong type", member, name);
        to.emplace(name, value.template get<Value>());
    }
}

std::string read_text(const Json& object, const char* member) {
    const auto found = object.find(member);
    require(found != object.end() && found->is_string(), Status::corrupt,
            "workload member '{}' is missing or no string", member);
    return found->get<std::string>();
}

/// As it would be typed.
std::string text_of_field(const Workload& w, const OperationField& field) {
    switch (field.kind) {
        case FieldKind::real: return fmt::format("{}", w.scalar(field.name));
        case FieldKind::word:
        case FieldKind::chain: return w.word(field.name);
        case FieldKind::grid:
            return fmt::format("{}x{}", w.extent(grid_rows), w.extent(grid_width));
        case FieldKind::count:
        case FieldKind::own: break;
    }
    return fmt::format("{}", w.extent(field.name));
}

}  // namespace

std::string name_of_operation(const Workload& w) {
    for (const OperationField& field : find_operation(w.op).fields.value) {
        if (field.kind == FieldKind::chain) {
            return w.word(field.name);
        }
    }
    return w.op;
}

Workload parse_operation_shape(std::string_view written, std::string_view pass,
                               std::span<const std::string_view> fields, DType fallback_dtype) {
    const std::string op = spelled_operation(written);
    const auto [record, chain] = named_operation(op);
    const OperationRecord& operation = *record;
    Workload w;
    w.op = operation.name.value;
    w.pass = pass;
    w.dtype = fallback_dtype;
    std::set<std::string_view> seen;
    for (const std::string_view text : fields) {
        const std::size_t equals = text.find('=');
        const std::string_view key = text.substr(0, equals);
        const std::string_view name = field_name(operation, key);
        const OperationField* field = name == "dtype" ? nullptr : &find_field(operation, op, name);
        require(equals != std::string_view::npos, wrong, "shape field '{}' needs a value", name);
        require(seen.insert(name).second, wrong, "shape field '{}' is given twice", name);
        const std::string_view value = text.substr(equals + 1);
        if (field == nullptr) {
            w.dtype = parse_dtype(value);
        } else {
            set_field(w, *field, value);
        }
    }
    w.kv_dtype = w.dtype;
    set_chain(w, operation, chain);
    fill_in_fallbacks(w, operation);
    validate(w);
    return w;
}

std::string format_operation_shape(const Workload& w) {
    const OperationRecord& operation = find_operation(w.op);
    std::string text = fmt::format("op={}", name_of_operation(w));
    if (w.pass != Workload{}.pass) {
        text += fmt::format(",pass={}", w.pass);
    }
    for (const OperationField& field : operation.fields.value) {
        if (field.kind == FieldKind::chain) {
            continue;
        }
        Workload usual;
        if (!field.fallback.empty()) {
            set_field(usual, field, field.fallback);
        }
        const std::string value = text_of_field(w, field);
        if (field.fallback.empty() || value != text_of_field(usual, field)) {
            text += fmt::format(",{}={}", field.name, value);
        }
    }
    return text + fmt::format(",dtype={}", name_of(w.dtype));
}

Json operation_workload_to_json(const Workload& w) {
    Json object;
    object["op"] = w.op;
    if (w.pass != Workload{}.pass) {
        object["pass"] = w.pass;
    }
    object["dtype"] = name_of(w.dtype);
    object["extents"] = Json::object();
    for (const auto& [name, value] : w.extents) {
        object["extents"][name] = value;
    }
    object["scalars"] = Json::object();
    for (const auto& [name, value] : w.scalars) {
        object["scalars"][name] = value;
    }
    for (const auto& [name, value] : w.words) {
        object["words"][name] = value;
    }
    return object;
}

Workload operation_workload_from_json(const Json& object) {
    Workload w;
    w.op = read_text(object, "op");
    w.pass = object.contains("pass") ? read_text(object, "pass") : w.pass;
    w.dtype = w.kv_dtype = dtype_named(read_text(object, "dtype"));
    read_values(w.extents, object, "extents");
    read_values(w.scalars, object, "scalars");
    if (object.contains("words")) {
        read_values(w.words, object, "words");
    }
    return w;
}

void validate_operation(const Workload& w) {
    const OperationRecord& operation = find_operation(w.op);
    require_pass(operation, written_name(operation, w), w.pass);
    if (w.is_attention()) {
        return;
    }
    require_fields(operation, w);
    operation.validate(w);
    double bytes = 0;
    for (const TensorSpec& tensor : operation.tensors(w)) {
        bytes += static_cast<double>(tensor.rows) * static_cast<double>(tensor.width) *
                 bytes_of(tensor.dtype);
    }
    require(bytes < std::ldexp(1.0, 60), wrong, "the tensors of {} take over 2^60 bytes: {:.3g}",
            format_operation_shape(w), bytes);
}

}  // namespace raceline
