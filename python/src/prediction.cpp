// SPDX-License-Identifier: Apache-2.0
// Predictions as JSON, and what each depends on: raceline.predict answers from memory by that key.
#include "prediction.hpp"

#include <cstring>
#include <nlohmann/json.hpp>

#include "api/predicted_case.hpp"
#include "call.hpp"
#include "support/json.hpp"

namespace raceline::python {
namespace {

class Key {
public:
    template <class T>
        requires std::is_arithmetic_v<T> || std::is_enum_v<T>
    void add(const T& value) {
        char bytes[sizeof(T)];
        std::memcpy(bytes, &value, sizeof(T));
        text_.append(bytes, sizeof(T));
    }
    void add(const std::vector<std::int64_t>& values) {
        add(values.size());
        for (const std::int64_t value : values) {
            add(value);
        }
    }
    std::string take(const std::string& backend) { return std::move(text_) + backend; }

private:
    std::string text_;
};

std::string key_of(const Workload& w, const std::string& backend) {
    Key key;
    for (const std::int64_t size : {w.batch, w.heads_q, w.heads_kv, w.seqlen_q, w.seqlen_k,
                                    w.headdim, w.headdim_v, w.page_size}) {
        key.add(size);
    }
    const Window window = w.window.value_or(Window{});
    key.add(window.left);
    key.add(window.right);
    key.add(w.scale.value_or(0));
    key.add(w.softcap);
    key.add(w.dtype);
    key.add(w.kv_dtype);
    key.add(w.mask);
    key.add(w.sinks);
    key.add(w.mla);
    key.add(w.tree);
    key.add(w.accuracy);
    key.add(w.seqlens_q);
    key.add(w.seqlens_k);
    return key.take(backend);
}

std::string text_of(const api::PredictedCase& predicted) {
    return dump_json(api::predicted_case_to_json(predicted));
}

}  // namespace

std::string ForwardCall::key() const {
    return key_of(api::check_forward(args_, Place::cpu, api::Pointers::ignored).workload,
                  args_.options.backend);
}

std::string ForwardCall::predict(const std::string& device) const {
    return text_of(api::predict_forward_case(args_, device));
}

std::string DecodeCall::key() const {
    Workload workload = api::check_decode(args_, {}, api::Pointers::ignored).workload;
    workload.seqlens_k.assign(host_lengths().begin(), host_lengths().end());
    if (!host_sums().empty()) {
        workload.seqlens_q = api::read_query_lengths(args_, host_sums());
    }
    return key_of(workload, args_.options.backend);
}

std::string DecodeCall::predict(const std::string& device) const {
    api::KnownLengths lengths{.q = {}, .k = host_lengths()};
    if (!host_sums().empty()) {
        lengths.q = api::read_query_lengths(args_, host_sums());
    }
    return text_of(api::predict_decode_case(args_, device, lengths));
}

std::string predict_shape(const std::string& shape, const std::string& device,
                          const std::string& kernel) {
    return text_of(api::predict_shape_case(shape, device, kernel));
}

}  // namespace raceline::python
