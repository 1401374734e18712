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
#include "workload/operation_shape.hpp"
#include "workload/shape_field.hpp"

namespace raceline {
namespace {

constexpr auto bad = Status::invalid_argument;

/// Fields as they are written, and the long words that people try instead of them.
struct Spelling {
    std::string_view written, field;
};
constexpr std::array spellings{Spelling{"b", "b"},
                               Spelling{"h", "h"},
                               Spelling{"q", "q"},
                               Spelling{"k", "k"},
                               Spelling{"d", "d"},
                               Spelling{"mla", "mla"},
                               Spelling{"dtype", "dtype"},
                               Spelling{"kv", "kv"},
                               Spelling{"causal", "causal"},
                               Spelling{"full", "full"},
                               Spelling{"window", "window"},
                               Spelling{"softcap", "softcap"},
                               Spelling{"sinks", "sinks"},
                               Spelling{"scale", "scale"},
                               Spelling{"page", "page"},
                               Spelling{"tree", "tree"},
                               Spelling{"accuracy", "accuracy"},
                               Spelling{"batch", "b"},
                               Spelling{"heads", "h"},
                               Spelling{"seqlen_q", "q"},
                               Spelling{"seqlen_k", "k"},
                               Spelling{"headdim", "d"},
                               Spelling{"kv_dtype", "kv"},
                               Spelling{"page_size", "page"},
                               Spelling{"op", "op"},
                               Spelling{"pass", "pass"}};
constexpr std::size_t field_count = 17;  // the rest of the list are only hints

[[noreturn]] void unknown_field(std::string_view key) {
    std::vector<std::string_view> known;
    known.reserve(std::size(spellings));
    for (const Spelling& spelling : spellings) {
        known.push_back(spelling.written);
    }
    const std::string_view near = nearest(key.substr(0, 40), known);
    std::string hint;
    for (const Spelling& spelling : spellings) {
        if (!near.empty() && spelling.written == near) {
            hint = fmt::format("did you mean '{}'? ", spelling.field);
        }
    }
    fail(bad,
         "shape field {} is unknown; {}valid fields: b h q k d mla dtype kv causal full window "
         "softcap sinks scale page tree accuracy op pass",
         in_quotes(key), hint);
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
        if (field.substr(0, equals) != name) {
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
    return text == "inf" ? -1 : parse_count("window", text);
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
        const std::string_view key = text.substr(0, equals);
        const bool known = std::any_of(spellings.begin(), spellings.begin() + field_count,
                                       [&](const Spelling& s) { return s.written == key; });
        if (!known) {
            unknown_field(key);
        }
        const bool flag = key == "causal" || key == "full" || key == "sinks";
        const bool valued = equals != std::string_view::npos;
        require(flag != valued, bad, "shape field '{}' {}", key,
                flag ? "takes no value" : "needs a value");
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
        if (!kv_heads_given_) {
            workload_.heads_kv = workload_.mla ? 1 : workload_.heads_q;
        }
        if (!has("kv")) {
            workload_.kv_dtype = workload_.dtype;
        }
        validate(workload_);
        return std::move(workload_);
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
            workload_.kv_dtype = parse_dtype(value);
        } else if (key == "page") {
            workload_.page_size = parse_count(key, value);
            require(workload_.page_size > 0, bad,
                    "shape field 'page': a page holds 1 token or more");
        } else {
            set_softmax(key, value);
        }
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
        }
    }

    Workload workload_;
    Lengths q_, k_;
    bool kv_heads_given_ = false;
    std::set<std::string_view> seen_;
};

}  // namespace

Workload parse_shape(std::string_view text, DType fallback_dtype) {
    require(!text.empty(), bad, "the shape is empty: write one such as h=32/8,q=1,k=8192,d=128");
    std::vector<std::string_view> fields = split_fields(text);
    const std::string op = take_field(fields, "op").value_or(Workload{}.op);
    const std::string pass = take_field(fields, "pass").value_or(Workload{}.pass);
    if (op != Workload{}.op) {
        return parse_operation_shape(op, pass, fields, fallback_dtype);
    }
    ShapeParser parser(fallback_dtype, pass);
    for (const std::string_view field : fields) {
        parser.field(field);
    }
    return parser.finish();
}

Accuracy parse_accuracy(std::string_view text) {
    require(text == "accurate" || text == "fast", bad,
            "accuracy is {}; it must be accurate or fast", in_quotes(text));
    return text == "fast" ? Accuracy::fast : Accuracy::accurate;
}

DType parse_dtype(std::string_view text) {
    constexpr std::array all{DType::fp32, DType::fp16, DType::bf16, DType::e4m3, DType::nvfp4};
    for (const DType dtype : all) {
        if (text == name_of(dtype)) {
            return dtype;
        }
    }
    fail(bad, "dtype {} is unknown: fp32, fp16, bf16, e4m3 or nvfp4", in_quotes(text));
}

}  // namespace raceline
