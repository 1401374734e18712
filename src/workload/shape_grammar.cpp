// SPDX-License-Identifier: Apache-2.0
// Text to workload. The text is whatever a user typed: nothing here may trust it.
#include "workload/shape_grammar.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "support/check.hpp"
#include "support/nearest.hpp"
#include "workload/operation.hpp"
#include "workload/operation_shape.hpp"
#include "workload/plainest.hpp"
#include "workload/shape_field.hpp"

namespace raceline {
namespace {

constexpr auto bad = Status::invalid_argument;

constexpr std::string_view none = "none";

constexpr std::array<std::string_view, 2> what_has_a_scale{"head", "token"};
constexpr std::array<std::string_view, 2> accuracies{"accurate", "fast"};

// What the parser does with a field stands behind the class that does it; this says what there is.
constexpr std::array grammar{
    ShapeField{"b", "b=4", "sequences in the batch", "1, or as many as a list has",
               "batch batch_size"},
    ShapeField{"h", "h=32/8", "query heads / KV heads", "", "heads heads_q"},
    ShapeField{"q", "q=1", "query tokens a sequence; 'q=1;5;7' one length each", "k", "seqlen_q"},
    ShapeField{"k", "k=8192", "keys a sequence; 'k=100;2048;7' one length each", "q", "seqlen_k"},
    ShapeField{"d", "d=192/128", "head dim of Q and K / of V", "", "headdim head_dim"},
    ShapeField{"mla", "mla=512+64", "in the place of d: columns of one latent cache", none, ""},
    ShapeField{"kv", "kv=e4m3", "type of the cache: that of Q, e4m3 or nvfp4", "dtype", "kv_dtype"},
    ShapeField{"scales", "scales=token", "what of an e4m3 cache has a scale: head or token", "head",
               "", false, what_has_a_scale},
    ShapeField{"full", "full", "no mask", "full", ""},
    ShapeField{"causal", "causal", "a query sees keys up to its own", "full", ""},
    ShapeField{"window", "window=1023:0", "keys to the left : right; inf opens a side", none, ""},
    ShapeField{"softcap", "softcap=30", "logits are softcap * tanh(s / softcap)", none, ""},
    ShapeField{"sinks", "sinks", "one more logit a query head", none, ""},
    ShapeField{"scale", "scale=0.125", "factor on QK", "1 / sqrt(d)", ""},
    ShapeField{"page", "page=64", "paged cache: tokens a page", none, "page_size"},
    ShapeField{"tree", "tree=7", "seed of trees of speculated tokens", none, ""},
    ShapeField{"accuracy", "accuracy=fast", "fast: a kernel may give up accuracy for speed",
               "accurate", "", false, accuracies},
    ShapeField{"dtype", "dtype=bf16", "type of Q and the output", "bf16, or --dtype", "type", true},
    ShapeField{"op", "op=attention", "the operation", "attention", "", true},
    ShapeField{"pass", "pass=forward", "its pass", "forward", "", true}};

/// The second half of `h` by itself, as rows of receipts name it: heads_q=32,heads_kv=8.
constexpr std::string_view kv_heads = "heads_kv";

constexpr auto attention_count = static_cast<std::size_t>(std::count_if(
    grammar.begin(), grammar.end(), [](const ShapeField& field) { return !field.of_all; }));

constexpr std::array<OperationField, attention_count> own_fields = [] {
    std::array<OperationField, attention_count> own{};
    std::size_t at = 0;
    for (const ShapeField& field : grammar) {
        if (!field.of_all) {
            own.at(at++) = {field.name, field.meaning, FieldKind::own, field.fallback};
        }
    }
    return own;
}();

constexpr std::array names_of_types{
    DTypeNames{DType::fp32, "float32 float f32"}, DTypeNames{DType::fp16, "float16 half f16"},
    DTypeNames{DType::bf16, "bfloat16"},
    DTypeNames{DType::e4m3, "fp8 float8 fp8_e4m3 float8_e4m3 float8_e4m3fn e4m3fn"},
    DTypeNames{DType::nvfp4, "fp4"}};

bool is_alias(std::string_view word, std::string_view aliases) {
    while (!aliases.empty()) {
        const std::string_view alias = aliases.substr(0, aliases.find(' '));
        if (same_word(word, alias)) {
            return true;
        }
        aliases.remove_prefix(std::min(alias.size() + 1, aliases.size()));
    }
    return false;
}

bool names_operation(std::string_view text) {
    try {
        std::ignore = named_operation(text);
        return true;
    } catch (const Error&) {
        return false;
    }
}

/// "; did you mean 'token'?" or nothing.
std::string meant_text(std::string_view word, std::span<const std::string_view> known) {
    const std::string_view near = nearest(word.substr(0, 40), known);
    return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

const ShapeField& field_called(std::string_view key) {
    const auto found = std::ranges::find_if(grammar, [&](const ShapeField& field) {
        return same_word(key, field.name) || is_alias(key, field.aliases);
    });
    if (found != grammar.end()) {
        return *found;
    }
    std::vector<std::string_view> known{kv_heads};
    std::string valid;
    for (const ShapeField& field : grammar) {
        known.push_back(field.name);
        for (std::string_view rest = field.aliases; !rest.empty();) {
            const std::string_view alias = rest.substr(0, rest.find(' '));
            known.push_back(alias);
            rest.remove_prefix(std::min(alias.size() + 1, rest.size()));
        }
        valid += " " + std::string(field.name);
    }
    require(!names_operation(key), bad,
            "{} is an operation: write op={} before its fields, or --op and all of it",
            in_quotes(key), key);
    const std::string_view near = nearest(key.substr(0, 40), known);
    fail(bad, "shape field {} is unknown; {}valid fields:{}", in_quotes(key),
         near.empty() ? "" : fmt::format("did you mean '{}'? ", near), valid);
}

/// `a` or `a<separator>b`; without the second half, second = missing.
std::pair<std::int64_t, std::int64_t> parse_pair(std::string_view field, std::string_view text,
                                                 char separator, std::int64_t missing) {
    const std::size_t at = text.find(separator);
    const std::int64_t first = parse_count(field, text.substr(0, at));
    return {first,
            at == std::string_view::npos ? missing : parse_count(field, text.substr(at + 1))};
}

/// One length, or a list split by ';' (a trailing ';' makes a list of one).
struct Lengths {
    bool given = false;
    std::int64_t longest = 0;
    std::vector<std::int64_t> each;
};
Lengths parse_lengths(std::string_view field, std::string_view text) {
    Lengths lengths;
    lengths.given = true;
    if (text.find(';') == std::string_view::npos) {
        lengths.longest = parse_count(field, text);
        return lengths;
    }
    if (text.back() == ';') {
        text.remove_suffix(1);
    }
    for (std::size_t from = 0; from <= text.size();) {
        const std::size_t to = std::min(text.find(';', from), text.size());
        lengths.each.push_back(parse_count(field, text.substr(from, to - from)));
        lengths.longest = std::max(lengths.longest, lengths.each.back());
        from = to + 1;
    }
    return lengths;
}

/// Removes `name=VALUE` from the fields and gives the value: it says how the others are read.
std::optional<std::string> take_field(std::vector<std::string_view>& fields,
                                      std::string_view name) {
    std::optional<std::string> value;
    std::erase_if(fields, [&](std::string_view field) {
        const std::size_t equals = field.find('=');
        if (!same_word(field.substr(0, equals), name)) {
            return false;
        }
        require(equals != std::string_view::npos && equals + 1 < field.size(), bad,
                "shape field '{}' needs a value", name);
        require(!value, bad, "shape field '{}' is given twice", name);
        value = field.substr(equals + 1);
        return true;
    });
    return value;
}

std::int64_t parse_window_side(std::string_view text) {
    if (same_word(text, "inf")) {
        return -1;
    }
    const bool number =
        !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    require(number, bad, "shape field 'window': {} must be a whole number of keys or inf",
            in_quotes(text));
    return parse_count("window", text);
}

/// Fields as found; what depends on another field is settled at the end.
class ShapeParser {
public:
    ShapeParser(DType fallback, std::string pass) {
        workload_.dtype = fallback;
        workload_.pass = std::move(pass);
    }

    void field(std::string_view text) {
        const std::size_t equals = text.find('=');
        if (same_word(text.substr(0, equals), kv_heads)) {
            set_kv_heads(equals == std::string_view::npos ? "" : text.substr(equals + 1));
            return;
        }
        const ShapeField& field = field_called(text.substr(0, equals));
        const std::string_view key = field.name;
        const bool flag = field.written == field.name;
        const bool valued = equals != std::string_view::npos;
        require(flag != valued, bad, "shape field '{}' {}", key,
                flag ? "takes no value" : fmt::format("needs a value, as in {}", field.written));
        // causal and full are one field, as are d and mla.
        const std::string_view slot = key == "full" ? "causal" : key == "mla" ? "d" : key;
        require(seen_.insert(slot).second, bad, "shape field '{}' is given twice{}", key,
                slot == "d"        ? " (d and mla are one field)"
                : slot == "causal" ? " (causal and full are one field)"
                                   : "");
        set(key, valued ? text.substr(equals + 1) : std::string_view{});
    }

    Workload finish() {
        require(has("h"), bad, "shape field 'h' is missing: give query/KV heads, such as h=32/8");
        require(has("d"), bad, "shape field 'd' is missing: give a head dim, such as d=128");
        require(q_.given || k_.given, bad,
                "shape fields 'q' and 'k' are missing: give at least one, such as k=8192");
        // Self-attention: the one that is missing is the same.
        const Lengths& q = q_.given ? q_ : k_;
        const Lengths& k = k_.given ? k_ : q_;
        workload_.seqlen_q = q.longest;
        workload_.seqlen_k = k.longest;
        workload_.seqlens_q = q.each;
        workload_.seqlens_k = k.each;
        if (!has("b")) {
            const std::size_t sequences = std::max(q.each.size(), k.each.size());
            workload_.batch = sequences == 0 ? 1 : static_cast<std::int64_t>(sequences);
        }
        require(!kv_heads_ || !kv_heads_given_, bad,
                "shape field 'h' has KV heads behind its slash, and heads_kv gives them again");
        if (kv_heads_) {
            workload_.heads_kv = *kv_heads_;
        } else if (!kv_heads_given_) {
            workload_.heads_kv = workload_.mla ? 1 : workload_.heads_q;
        }
        if (!has("kv")) {
            workload_.kv_dtype = workload_.dtype;
        }
        validate(workload_);
        return canonical(std::move(workload_));
    }

private:
    [[nodiscard]] bool has(std::string_view slot) const { return seen_.contains(slot); }

    void set(std::string_view key, std::string_view value) {
        if (key == "b") {
            workload_.batch = parse_count(key, value);
        } else if (key == "h") {
            kv_heads_given_ = value.find('/') != std::string_view::npos;
            std::tie(workload_.heads_q, workload_.heads_kv) = parse_pair(key, value, '/', 1);
            require(workload_.heads_q > 0 && workload_.heads_kv > 0, bad,
                    "shape field 'h': {} needs at least one head", in_quotes(value));
        } else if (key == "q") {
            q_ = parse_lengths(key, value);
        } else if (key == "k") {
            k_ = parse_lengths(key, value);
        } else if (key == "d" || key == "mla") {
            set_head_dims(key, value);
        } else if (key == "dtype") {
            workload_.dtype = parse_dtype(value);
        } else if (key == "kv") {
            workload_.kv_dtype = parse_cache_dtype(value);
        } else if (key == "page") {
            workload_.page_size = parse_count(key, value);
            require(workload_.page_size > 0, bad,
                    "shape field 'page': a page holds 1 token or more");
        } else {
            set_softmax(key, value);
        }
    }

    void set_kv_heads(std::string_view value) {
        require(!kv_heads_, bad, "shape field '{}' is given twice", kv_heads);
        kv_heads_ = parse_count(kv_heads, value);
        require(*kv_heads_ > 0, bad, "shape field '{}': {} needs at least one head", kv_heads,
                in_quotes(value));
    }

    void set_head_dims(std::string_view key, std::string_view value) {
        if (key == "d") {
            std::tie(workload_.headdim, workload_.headdim_v) = parse_pair(key, value, '/', -1);
            if (workload_.headdim_v < 0) {
                workload_.headdim_v = workload_.headdim;
            }
            return;
        }
        require(value.find('+') != std::string_view::npos, bad,
                "shape field 'mla': {} must be latent+rope columns, such as 512+64",
                in_quotes(value));
        const auto [latent, rope] = parse_pair(key, value, '+', 0);
        workload_.headdim = latent + rope;
        workload_.headdim_v = latent;
        workload_.mla = true;
    }

    void set_softmax(std::string_view key, std::string_view value) {
        if (key == "causal") {
            workload_.mask = Mask::causal;
        } else if (key == "sinks") {
            workload_.sinks = true;
        } else if (key == "softcap") {
            workload_.softcap = parse_real(key, value);
        } else if (key == "scale") {
            workload_.scale = parse_real(key, value);
        } else if (key == "scales") {
            require(!same_among(value, what_has_a_scale).empty(), bad,
                    "shape field 'scales': {} must be head or token{}", in_quotes(value),
                    meant_text(value, what_has_a_scale));
            workload_.scale_of = same_word(value, "token") ? ScaleOf::token : ScaleOf::head;
        } else if (key == "tree") {
            workload_.tree = parse_count(key, value);
        } else if (key == "accuracy") {
            workload_.accuracy = parse_accuracy(value);
        } else if (key == "window") {
            const std::size_t colon = value.find(':');
            Window window;
            window.left = parse_window_side(value.substr(0, colon));
            if (colon != std::string_view::npos) {
                window.right = parse_window_side(value.substr(colon + 1));
            }
            workload_.window = window;
        } else {
            require(key == "full", Status::internal, "nothing reads the shape field '{}'", key);
        }
    }

    Workload workload_;
    Lengths q_, k_;
    bool kv_heads_given_ = false;
    std::optional<std::int64_t> kv_heads_;  // of a field of its own
    std::set<std::string_view> seen_;
};

// The name of an operation or of a pass as it is written everywhere else.
std::string small_letters(std::string text) {
    std::ranges::transform(text, text.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return text;
}

}  // namespace

std::span<const ShapeField> shape_fields() {
    return grammar;
}

bool is_shape_field(std::string_view name) {
    return same_word(name, kv_heads) || std::ranges::any_of(grammar, [&](const ShapeField& field) {
               return same_word(name, field.name) || is_alias(name, field.aliases);
           });
}

std::span<const OperationField> attention_fields() {
    return own_fields;
}

std::span<const DTypeNames> dtype_names() {
    return names_of_types;
}

Workload parse_shape(std::string_view text, DType fallback_dtype) {
    require(!text.empty(), bad, "the shape is empty: write one such as h=32/8,q=1,k=8192,d=128");
    std::vector<std::string_view> given = split_fields(text);
    const std::string op = small_letters(take_field(given, "op").value_or(Workload{}.op));
    const std::string pass = small_letters(take_field(given, "pass").value_or(Workload{}.pass));
    if (op != Workload{}.op) {
        return parse_operation_shape(op, pass, given, fallback_dtype);
    }
    ShapeParser parser(fallback_dtype, pass);
    for (const std::string_view field : given) {
        parser.field(field);
    }
    return parser.finish();
}

Accuracy accuracy_named(std::string_view text) {
    require(text == "accurate" || text == "fast", bad,
            "accuracy is {}; it must be accurate or fast{}", in_quotes(text),
            meant_text(text, accuracies));
    return text == "fast" ? Accuracy::fast : Accuracy::accurate;
}

Accuracy parse_accuracy(std::string_view text) {
    const std::string_view word = same_among(text, accuracies);
    return accuracy_named(word.empty() ? text : word);
}

namespace {

// Of what was written for `what`, among the types that may stand there.
[[noreturn]] void refuse_type(std::string_view what, std::string_view text, bool of_cache) {
    std::vector<std::string_view> known;
    for (const DTypeNames& type : names_of_types) {
        if (of_cache || type.dtype != DType::nvfp4) {
            known.push_back(name_of(type.dtype));
        }
    }
    const std::string_view near = nearest(text.substr(0, 40), known);
    fail(bad, "{} {} is unknown{}: {} are accepted", what, in_quotes(text),
         near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near), fmt::join(known, ", "));
}

}  // namespace

DType dtype_named(std::string_view text) {
    for (const DTypeNames& type : names_of_types) {
        if (text == name_of(type.dtype)) {
            return type.dtype;
        }
    }
    refuse_type("dtype", text, true);
}

std::optional<DType> find_dtype(std::string_view text) {
    for (const DTypeNames& type : names_of_types) {
        if (same_word(text, name_of(type.dtype)) || is_alias(text, type.aliases)) {
            return type.dtype;
        }
    }
    return std::nullopt;
}

DType parse_dtype(std::string_view text) {
    if (const std::optional<DType> dtype = find_dtype(text)) {
        return *dtype;
    }
    refuse_type("dtype", text, false);
}

DType parse_cache_dtype(std::string_view text) {
    if (const std::optional<DType> dtype = find_dtype(text)) {
        return *dtype;
    }
    refuse_type("kv", text, true);
}

std::string operation_shape(std::string_view text) {
    constexpr std::string_view op = "op=";
    const bool named = same_word(text.substr(0, op.size()), op);
    return std::string(op) + std::string(named ? text.substr(op.size()) : text);
}

}  // namespace raceline
