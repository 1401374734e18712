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
        names.push_back(field.name);
    }
    names.insert(names.end(), {"dtype", "op", "pass"});
    return names;
}

// As somebody wrote it, whose capital letters do not matter.
std::string_view field_name(const OperationRecord& operation, std::string_view written) {
    const std::string_view known = same_among(written, names_of_fields(operation));
    return known.empty() ? written : known;
}

const OperationField& find_field(const OperationRecord& operation, std::string_view name) {
    for (const OperationField& field : operation.fields.value) {
        if (field.name == name) {
            return field;
        }
    }
    const std::vector<std::string_view> names = names_of_fields(operation);
    const std::string_view near = nearest(name.substr(0, 40), names);
    fail(wrong, "shape field {} is unknown to op={}; {}valid fields: {}", in_quotes(name),
         operation.name.value, near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
         fmt::join(names, " "));
}

void set_field(Workload& w, const OperationField& field, std::string_view text) {
    if (field.kind == FieldKind::real) {
        w.scalars.emplace(field.name, parse_real(field.name, text));
    } else {
        w.extents.emplace(field.name, parse_count(field.name, text));
    }
}

void fill_in_fallbacks(Workload& w, const OperationRecord& operation) {
    for (const OperationField& field : operation.fields.value) {
        if (w.extents.contains(field.name) || w.scalars.contains(field.name)) {
            continue;
        }
        require(!field.fallback.empty(), wrong,
                "shape field '{}' of op={} is missing ({}): give one such as {}", field.name,
                operation.name.value, field.meaning, operation.example.value);
        set_field(w, field, field.fallback);
    }
}

void require_pass(const OperationRecord& operation, const std::string& pass) {
    const std::string_view near = nearest(std::string_view(pass).substr(0, 40), operation.passes);
    require(std::ranges::find(operation.passes, pass) != operation.passes.end(), wrong,
            "pass {} of {} does not exist; {}it has: {}", in_quotes(pass), operation.name.value,
            near.empty() ? "" : fmt::format("did you mean '{}'? ", near),
            fmt::join(operation.passes, " "));
}

/// Every field that the record names, of its kind, and no other.
void require_fields(const OperationRecord& operation, const Workload& w) {
    for (const OperationField& field : operation.fields.value) {
        const bool real = field.kind == FieldKind::real;
        require(real ? w.scalars.contains(field.name) : w.extents.contains(field.name), wrong,
                "field '{}' of op={} is missing ({})", field.name, w.op, field.meaning);
    }
    for (const auto& [name, value] : w.extents) {
        require(find_field(operation, name).kind == FieldKind::count && value >= 0, wrong,
                "field '{}' of op={} is {}: it must be {}", name, w.op, value,
                value < 0 ? "0 or more" : "a scalar");
    }
    for (const auto& [name, value] : w.scalars) {
        require(find_field(operation, name).kind == FieldKind::real && std::isfinite(value), wrong,
                "field '{}' of op={} is {}: it must be {}", name, w.op, value,
                std::isfinite(value) ? "an extent" : "finite");
    }
}

template <class Values>
void read_values(Values& to, const Json& object, const char* member) {
    const auto found = object.find(member);
    require(found != object.end() && found->is_object(), Status::corrupt,
            "workload member '{}' is missing or no object", member);
    for (const auto& [name, value] : found->items()) {
        using Value = typename Values::mapped_type;
        const bool fits = std::is_same_v<Value, double>
                              ? value.is_number()
                              : value.is_number_integer() && value >= 0 && value <= 0x7fffffff;
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

}  // namespace

Workload parse_operation_shape(std::string_view op, std::string_view pass,
                               std::span<const std::string_view> fields, DType fallback_dtype) {
    const OperationRecord& operation = find_operation(op);
    Workload w;
    w.op = op;
    w.pass = pass;
    w.dtype = fallback_dtype;
    std::set<std::string_view> seen;
    for (const std::string_view text : fields) {
        const std::size_t equals = text.find('=');
        const std::string_view key = text.substr(0, equals);
        const std::string_view name = field_name(operation, key);
        const OperationField* field = name == "dtype" ? nullptr : &find_field(operation, name);
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
    fill_in_fallbacks(w, operation);
    validate(w);
    return w;
}

std::string format_operation_shape(const Workload& w) {
    const OperationRecord& operation = find_operation(w.op);
    std::string text = fmt::format("op={}", w.op);
    if (w.pass != Workload{}.pass) {
        text += fmt::format(",pass={}", w.pass);
    }
    for (const OperationField& field : operation.fields.value) {
        const bool real = field.kind == FieldKind::real;
        Workload usual;
        if (!field.fallback.empty()) {
            set_field(usual, field, field.fallback);
        }
        if (real && (usual.scalars.empty() || usual.scalar(field.name) != w.scalar(field.name))) {
            text += fmt::format(",{}={}", field.name, w.scalar(field.name));
        } else if (!real &&
                   (usual.extents.empty() || usual.extent(field.name) != w.extent(field.name))) {
            text += fmt::format(",{}={}", field.name, w.extent(field.name));
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
    return object;
}

Workload operation_workload_from_json(const Json& object) {
    Workload w;
    w.op = read_text(object, "op");
    w.pass = object.contains("pass") ? read_text(object, "pass") : w.pass;
    w.dtype = w.kv_dtype = dtype_named(read_text(object, "dtype"));
    read_values(w.extents, object, "extents");
    read_values(w.scalars, object, "scalars");
    return w;
}

void validate_operation(const Workload& w) {
    const OperationRecord& operation = find_operation(w.op);
    require_pass(operation, w.pass);
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
