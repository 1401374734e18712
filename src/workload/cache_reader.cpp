// SPDX-License-Identifier: Apache-2.0
#include "workload/cache_reader.hpp"

#include <bit>
#include <cstring>

#include "support/check.hpp"
#include "workload/nvfp4.hpp"

namespace raceline {
namespace {

/// All 256 values of e4m3.
std::vector<float> e4m3_values() {
    std::vector<float> values;
    for (int bits = 0; bits < 256; ++bits) {
        const auto stored = static_cast<std::byte>(bits);
        values.push_back(static_cast<float>(load_element(&stored, DType::e4m3, 0)));
    }
    return values;
}

/// Consecutive elements as float; the common types without a call an element.
void load_run(const std::byte* base, DType dtype, std::size_t first, std::int64_t count,
              float* out) {
    if (dtype == DType::fp32) {
        std::memcpy(out, base + first * sizeof(float), count * sizeof(float));
        return;
    }
    if (dtype == DType::bf16) {
        for (std::int64_t i = 0; i < count; ++i) {
            std::uint16_t bits = 0;
            std::memcpy(&bits, base + (first + i) * sizeof(bits), sizeof(bits));
            out[i] = std::bit_cast<float>(std::uint32_t{bits} << 16);
        }
        return;
    }
    if (dtype == DType::e4m3) {
        static const std::vector<float> values = e4m3_values();
        const float* const value_of = values.data();
        for (std::int64_t i = 0; i < count; ++i) {
            out[i] = value_of[static_cast<std::uint8_t>(base[first + i])];
        }
        return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
        out[i] = static_cast<float>(load_element(base, dtype, first + i));
    }
}

}  // namespace

CacheReader::CacheReader(const Workload& workload, const Inputs& inputs, std::int64_t sequence,
                         std::int64_t kv_head)
    : workload_(workload), inputs_(inputs), sequence_(sequence), kv_head_(kv_head) {}

std::int64_t CacheReader::slot(std::int64_t token) const {
    const Workload& w = workload_;
    if (w.page_size != 0) {
        const std::int64_t page =
            inputs_.block_table[sequence_ * inputs_.block_table_stride + token / w.page_size];
        return page * w.page_size + token % w.page_size;
    }
    const std::int64_t start =
        inputs_.cu_seqlens_k.empty() ? sequence_ * w.seqlen_k : inputs_.cu_seqlens_k[sequence_];
    return start + token;
}

void CacheReader::load(const std::vector<std::byte>& cache, std::int64_t slot, std::int64_t row,
                       std::span<float> out) const {
    const Workload& w = workload_;
    if (w.kv_dtype == DType::nvfp4) {
        const Nvfp4Pages pages(w, w.heads_kv * row);
        const std::int64_t first = (slot % pages.tokens * w.heads_kv + kv_head_) * row;
        load_nvfp4(cache.data() + slot / pages.tokens * pages.bytes(), pages.elements, first, out);
        return;
    }
    load_run(cache.data(), w.kv_dtype, (slot * w.heads_kv + kv_head_) * row,
             static_cast<std::int64_t>(out.size()), out.data());
}

void CacheReader::keys(std::int64_t first, std::int64_t count,
                       std::vector<float>& transposed) const {
    const std::int64_t width = workload_.headdim;
    std::vector<float> key(width);
    transposed.resize(width * count);
    for (std::int64_t j = 0; j < count; ++j) {
        load(inputs_.k, slot(first + j), width, key);
        for (std::int64_t c = 0; c < width; ++c) {
            transposed[c * count + j] = key[c];
        }
    }
}

void CacheReader::values(std::int64_t first, std::int64_t count, std::vector<float>& rows) const {
    // MLA: V is the first columns of K, so rows of K's width apart.
    const std::int64_t pitch = workload_.mla ? workload_.headdim : workload_.headdim_v;
    const auto width = static_cast<std::size_t>(workload_.headdim_v);
    rows.resize(workload_.headdim_v * count);
    for (std::int64_t j = 0; j < count; ++j) {
        load(workload_.mla ? inputs_.k : inputs_.v, slot(first + j), pitch,
             std::span(rows).subspan(static_cast<std::size_t>(j) * width, width));
    }
}

std::vector<double> CacheReader::query(std::int64_t row, std::int64_t head) const {
    const Workload& w = workload_;
    const std::int64_t start =
        inputs_.cu_seqlens_q.empty() ? sequence_ * w.seqlen_q : inputs_.cu_seqlens_q[sequence_];
    std::vector<double> values(w.headdim);
    for (std::int64_t c = 0; c < w.headdim; ++c) {
        values[c] = load_element(inputs_.q.data(), w.dtype,
                                 ((start + row) * w.heads_q + head) * w.headdim + c);
    }
    return values;
}

double CacheReader::scale_of(const std::vector<float>& scales) const {
    return scales.empty() ? 1.0 : scales[sequence_ * workload_.heads_kv + kv_head_];
}

std::vector<float> CacheReader::scales_of_tokens(const std::vector<float>& scales,
                                                 std::int64_t first, std::int64_t count) const {
    std::vector<float> found;
    const Workload& w = workload_;
    const Inputs::ScaleStrides& stride = inputs_.scale_strides;
    const std::int64_t run = w.page_size != 0 ? w.page_size : w.seqlen_k;
    for (std::int64_t j = first; j < first + count && !scales.empty(); ++j) {
        const std::int64_t at = slot(j);
        const bool packed = w.page_size == 0 && !inputs_.cu_seqlens_k.empty();
        const std::int64_t outer = packed ? 0 : at / run;
        found.push_back(scales[static_cast<std::size_t>(
            outer * stride.batch + (at - outer * run) * stride.token + kv_head_ * stride.head)]);
    }
    return found;
}

std::vector<float> CacheReader::key_scales(std::int64_t first, std::int64_t count) const {
    return scales_of_tokens(inputs_.k_token_scale, first, count);
}

std::vector<float> CacheReader::value_scales(std::int64_t first, std::int64_t count) const {
    return scales_of_tokens(inputs_.v_token_scale, first, count);
}

double CacheReader::query_scale() const {
    return scale_of(inputs_.q_scale);
}

double CacheReader::key_scale() const {
    return scale_of(inputs_.k_scale);
}

double CacheReader::value_scale() const {
    return scale_of(inputs_.v_scale);
}

}  // namespace raceline
