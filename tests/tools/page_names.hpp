// SPDX-License-Identifier: Apache-2.0
// What pieces of C++ in pages use without saying where it comes from: memory and sizes of the
// reader's.
#include <array>
#include <cstddef>
#include <cstdint>
#include <raceline/operation.hpp>
#include <raceline/point.hpp>
#include <raceline/raceline.hpp>
#include <raceline/sizes.hpp>

using namespace raceline;
extern void *q, *k, *v, *o, *l, *out, *scratch, *stream;
extern void* addresses[8];
extern const std::int32_t* sums;
extern std::size_t bytes;
extern std::int64_t batch, seqlen, heads_q, heads_kv, heads, headdim, parts, rows;
