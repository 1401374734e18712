// SPDX-License-Identifier: Apache-2.0
// Workload to text and to the receipt's object, and back from the latter.
#include <limits>
#include <nlohmann/json.hpp>

#include "support/check.hpp"
#include "workload/operation_shape.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

std::string lengths_text(std::int64_t same, const std::vector<std::int64_t>& each) {
    if (each.empty()) {
        return fmt::format("{}", same);
    }
    std::string text;
    for (const std::int64_t length : each) {
        text += fmt::format("{};", length);
    }
    if (each.size() > 1) {  // the trailing ';' only marks a list of one
        text.pop_back();
    }
    return text;
}

std::string side_text(std::int64_t side) {
    return side < 0 ? "inf" : fmt::format("{}", side);
}

/// nlohmann's get would wrap an unsigned number past int64 around to a negative one.
bool is_int64(const Json& value) {
    return value.is_number_integer() &&
           !(value.is_number_unsigned() &&
             value.get<std::uint64_t>() > std::uint64_t{std::numeric_limits<std::int64_t>::max()});
}

/// A member of the wanted type; a receipt is a file that anybody may have edited.
template <class T>
T member(const Json& object, const char* name) {
    const auto found = object.find(name);
    require(found != object.end(), Status::corrupt, "workload has no member '{}'", name);
    bool fits = false;
    if constexpr (std::is_same_v<T, bool>) {
        fits = found->is_boolean();
    } else if constexpr (std::is_same_v<T, std::string>) {
        fits = found->is_string();
    } else if constexpr (std::is_same_v<T, double>) {
        fits = found->is_number();
    } else {
        fits = is_int64(*found);
    }
    require(fits, Status::corrupt, "workload member '{}' has the wrong type", name);
    return found->template get<T>();
}

std::vector<std::int64_t> lengths_from(const Json& object, const char* name) {
    std::vector<std::int64_t> lengths;
    const auto found = object.find(name);
    if (found == object.end()) {
        return lengths;
    }
    require(found->is_array() && !found->empty(), Status::corrupt,
            "workload member '{}' is not a list of lengths", name);
    for (const Json& length : *found) {
        require(is_int64(length), Status::corrupt,
                "workload member '{}' holds something that is no length", name);
        lengths.push_back(length.get<std::int64_t>());
    }
    return lengths;
}

std::optional<Window> window_from(const Json& object) {
    const auto found = object.find("window");
    if (found == object.end() || found->is_null()) {
        return std::nullopt;
    }
    require(
        found->is_array() && found->size() == 2 && is_int64((*found)[0]) && is_int64((*found)[1]),
        Status::corrupt, "workload member 'window' is neither null nor [left, right]");
    return Window{(*found)[0].get<std::int64_t>(), (*found)[1].get<std::int64_t>()};
}

Workload read_members(const Json& object) {
    Workload w;
    w.batch = member<std::int64_t>(object, "batch");
    w.heads_q = member<std::int64_t>(object, "heads_q");
    w.heads_kv = member<std::int64_t>(object, "heads_kv");
    w.seqlen_q = member<std::int64_t>(object, "seqlen_q");
    w.seqlen_k = member<std::int64_t>(object, "seqlen_k");
    w.seqlens_q = lengths_from(object, "seqlens_q");
    w.seqlens_k = lengths_from(object, "seqlens_k");
    w.headdim = member<std::int64_t>(object, "headdim");
    w.headdim_v = member<std::int64_t>(object, "headdim_v");
    w.dtype = dtype_named(member<std::string>(object, "dtype"));
    w.kv_dtype = dtype_named(member<std::string>(object, "kv_dtype"));
    const auto mask = member<std::string>(object, "mask");
    require(mask == "full" || mask == "causal", Status::corrupt,
            "workload member 'mask' is neither full nor causal");
    w.mask = mask == "causal" ? Mask::causal : Mask::full;
    w.window = window_from(object);
    w.softcap = member<double>(object, "softcap");
    w.sinks = member<bool>(object, "sinks");
    w.page_size = member<std::int64_t>(object, "page_size");
    if (object.contains("scale")) {
        w.scale = member<double>(object, "scale");
    }
    w.mla = object.contains("mla") && member<bool>(object, "mla");
    if (object.contains("scales")) {
        const auto scales = member<std::string>(object, "scales");
        require(scales == "token", Status::corrupt, "workload member 'scales' is not token");
        w.scale_of = ScaleOf::token;
    }
    if (object.contains("tree")) {
        w.tree = member<std::int64_t>(object, "tree");
    }
    if (object.contains("accuracy")) {
        w.accuracy = accuracy_named(member<std::string>(object, "accuracy"));
    }
    if (object.contains("pass")) {
        w.pass = member<std::string>(object, "pass");
    }
    return w;
}

}  // namespace

std::string format_shape(const Workload& w) {
    if (!w.is_attention()) {
        return format_operation_shape(w);
    }
    std::string text;
    if (w.batch != 1 && !w.ragged()) {
        text += fmt::format("b={},", w.batch);
    }
    const std::int64_t implied_kv = w.mla ? 1 : w.heads_q;
    text += fmt::format("h={}", w.heads_q);
    if (w.heads_kv != implied_kv) {
        text += fmt::format("/{}", w.heads_kv);
    }
    text += fmt::format(",q={},k={}", lengths_text(w.seqlen_q, w.seqlens_q),
                        lengths_text(w.seqlen_k, w.seqlens_k));
    if (w.mla) {
        text += fmt::format(",mla={}+{}", w.headdim_v, w.headdim - w.headdim_v);
    } else if (w.headdim_v == w.headdim) {
        text += fmt::format(",d={}", w.headdim);
    } else {
        text += fmt::format(",d={}/{}", w.headdim, w.headdim_v);
    }
    text += fmt::format(",dtype={}", name_of(w.dtype));
    if (w.kv_dtype != w.dtype) {
        text += fmt::format(",kv={}", name_of(w.kv_dtype));
    }
    text += w.has_token_scales() ? ",scales=token" : "";
    if (w.mask == Mask::causal) {
        text += ",causal";
    }
    if (w.window) {
        text += fmt::format(",window={}", side_text(w.window->left));
        if (w.window->right >= 0) {
            text += fmt::format(":{}", side_text(w.window->right));
        }
    }
    if (w.softcap != 0) {
        text += fmt::format(",softcap={}", w.softcap);
    }
    text += w.sinks ? ",sinks" : "";
    if (w.scale) {
        text += fmt::format(",scale={}", *w.scale);
    }
    if (w.page_size != 0) {
        text += fmt::format(",page={}", w.page_size);
    }
    if (w.tree != 0) {
        text += fmt::format(",tree={}", w.tree);
    }
    text += w.accuracy == Accuracy::fast ? ",accuracy=fast" : "";
    text += w.pass != Workload{}.pass ? ",pass=" + w.pass : "";
    return text;
}

Json workload_to_json(const Workload& w) {
    if (!w.is_attention()) {
        return operation_workload_to_json(w);
    }
    Json object;
    object["batch"] = w.batch;
    object["heads_q"] = w.heads_q;
    object["heads_kv"] = w.heads_kv;
    object["seqlen_q"] = w.seqlen_q;
    object["seqlen_k"] = w.seqlen_k;
    if (!w.seqlens_q.empty()) {
        object["seqlens_q"] = w.seqlens_q;
    }
    if (!w.seqlens_k.empty()) {
        object["seqlens_k"] = w.seqlens_k;
    }
    object["headdim"] = w.headdim;
    object["headdim_v"] = w.headdim_v;
    object["dtype"] = name_of(w.dtype);
    object["kv_dtype"] = name_of(w.kv_dtype);
    object["mask"] = w.mask == Mask::causal ? "causal" : "full";
    object["window"] = w.window ? Json::array({w.window->left, w.window->right}) : Json(nullptr);
    object["softcap"] = w.softcap;
    object["sinks"] = w.sinks;
    object["page_size"] = w.page_size;
    if (w.scale) {
        object["scale"] = *w.scale;
    }
    if (w.mla) {
        object["mla"] = true;
    }
    if (w.has_token_scales()) {
        object["scales"] = "token";
    }
    if (w.tree != 0) {
        object["tree"] = w.tree;
    }
    if (w.accuracy == Accuracy::fast) {
        object["accuracy"] = "fast";
    }
    if (w.pass != Workload{}.pass) {
        object["pass"] = w.pass;
    }
    return object;
}

Workload workload_from_json(const Json& object) {
    require(object.is_object(), Status::corrupt, "workload is not an object");
    try {
        const bool other = object.contains("op") && object.at("op") != Workload{}.op;
        Workload workload = other ? operation_workload_from_json(object) : read_members(object);
        validate(workload);
        return workload;
    } catch (const Error& error) {
        // In a file the same mistake is damage, not a wrong argument.
        throw Error(Status::corrupt, error.what());
    }
}

}  // namespace raceline
