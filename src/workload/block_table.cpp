// SPDX-License-Identifier: Apache-2.0
#include "workload/block_table.hpp"

#include <algorithm>
#include <numeric>

#include "support/check.hpp"
#include "support/rounding.hpp"
#include "workload/normal.hpp"

namespace raceline {
namespace {

// A page that no cache can hold: reading it runs off every allocation.
constexpr std::int32_t no_page = 0x7fffffff;

}  // namespace

std::vector<std::int64_t> token_slots(const Workload& w, const Inputs& in) {
    std::vector<std::int64_t> slots(w.tokens_k());
    if (w.page_size == 0) {
        std::iota(slots.begin(), slots.end(), std::int64_t{0});
        return slots;
    }
    std::size_t token = 0;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        for (std::int64_t j = 0; j < w.length_k(b); ++j) {
            const std::int64_t page = in.block_table[b * in.block_table_stride + j / w.page_size];
            slots[token++] = page * w.page_size + j % w.page_size;
        }
    }
    return slots;
}

std::int64_t make_pages(Inputs& in, const Workload& w, bool poison, std::uint64_t key) {
    std::int64_t used = 0;
    std::int64_t widest = 0;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        const std::int64_t pages = divide_up(w.length_k(b), w.page_size);
        used += pages;
        widest = std::max(widest, pages);
        in.seqlens_k.push_back(static_cast<std::int32_t>(w.length_k(b)));
    }
    const std::int64_t pages = used + std::clamp<std::int64_t>(used / 8, 1, 64);
    require(pages < no_page, Status::unsupported, "{} pages: page indices are int32", pages);
    std::vector<std::int32_t> order(pages);
    std::iota(order.begin(), order.end(), 0);
    for (std::int64_t i = pages - 1; i > 0; --i) {
        std::swap(order[i], order[random_below(key, i, i + 1)]);
    }
    in.block_table_stride = widest + 1;
    in.block_table.assign(w.batch * in.block_table_stride, poison ? no_page : 0);
    std::int64_t next = 0;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        for (std::int64_t p = 0; p * w.page_size < w.length_k(b); ++p) {
            in.block_table[b * in.block_table_stride + p] = order[next++];
        }
    }
    return pages * w.page_size;
}

StoredElement stored_element(const Workload& w, const NonFinite& value,
                             const std::vector<std::int64_t>& slots) {
    const bool query = value.tensor == NonFinite::Tensor::q;
    std::int64_t token = value.token;
    for (std::int64_t b = 0; b < value.sequence; ++b) {
        token += query ? w.length_q(b) : w.length_k(b);
    }
    const std::int64_t row = query ? token : slots[static_cast<std::size_t>(token)];
    const std::int64_t heads = query ? w.heads_q : w.heads_kv;
    const std::int64_t width = value.tensor == NonFinite::Tensor::v ? w.headdim_v : w.headdim;
    return {query ? w.dtype : w.kv_dtype,
            static_cast<std::size_t>((row * heads + value.head) * width + value.channel)};
}

}  // namespace raceline
