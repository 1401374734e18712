// SPDX-License-Identifier: Apache-2.0
// Found before the toolkit's: matrix fragments for the emulated machine. Which lane holds which
// element is a permutation unlike any GPU's, so that a kernel that relies on one fails here. Sums
// of products are rounded toward zero, as tensor cores round them.
#pragma once

#include <cmath>
#include <cuda_fp16.h>
#include <type_traits>

namespace nvcuda::wmma {

struct row_major {};
struct col_major {};
struct matrix_a {
    static constexpr int turn = 17;
};
struct matrix_b {
    static constexpr int turn = 90;
};
struct accumulator {
    static constexpr int turn = 201;
};
enum layout_t { mem_row_major, mem_col_major };

constexpr int emulated_side = 16;

template <class Use, int m, int n, int k, class T, class Layout = void>
struct fragment {
    static_assert(m == emulated_side && n == emulated_side && k == emulated_side);
    static constexpr int num_elements = 8;
    T x[num_elements];

    // Row and column of this lane's element.
    static int place(int element) {
        const int lane = static_cast<int>(threadIdx.x % 32);
        return ((lane * num_elements + element) * 167 + Use::turn) % 256;
    }
    static int row(int element) { return place(element) / emulated_side; }
    static int column(int element) { return place(element) % emulated_side; }
};

template <class Use, int m, int n, int k, class T, class Layout>
void fill_fragment(fragment<Use, m, n, k, T, Layout>& f, T value) {
    std::fill_n(f.x, f.num_elements, value);
}

template <class F, class T>
void load_emulated(F& f, const T* from, unsigned stride, bool by_rows) {
    if (reinterpret_cast<std::uintptr_t>(from) % 32 != 0 || stride * sizeof(T) % 16 != 0) {
        throw std::logic_error("a fragment is loaded from an address that is not aligned");
    }
    for (int e = 0; e < f.num_elements; ++e) {
        f.x[e] =
            by_rows ? from[f.row(e) * stride + f.column(e)] : from[f.column(e) * stride + f.row(e)];
    }
}
template <class Use, int m, int n, int k, class T, class Layout>
void load_matrix_sync(fragment<Use, m, n, k, T, Layout>& f, const T* from, unsigned stride) {
    load_emulated(f, from, stride, std::is_same_v<Layout, row_major>);
}
template <int m, int n, int k, class T>
void load_matrix_sync(fragment<accumulator, m, n, k, T>& f, const T* from, unsigned stride,
                      layout_t layout) {
    load_emulated(f, from, stride, layout == mem_row_major);
}
template <int m, int n, int k, class T>
void store_matrix_sync(T* to, const fragment<accumulator, m, n, k, T>& f, unsigned stride,
                       layout_t layout) {
    for (int e = 0; e < f.num_elements; ++e) {
        to[layout == mem_row_major ? f.row(e) * stride + f.column(e)
                                   : f.column(e) * stride + f.row(e)] = f.x[e];
    }
}

inline float toward_zero(double x) {
    const auto nearest = static_cast<float>(x);
    return std::fabs(static_cast<double>(nearest)) > std::fabs(x) ? std::nextafterf(nearest, 0)
                                                                  : nearest;
}

template <int m, int n, int k, class LayoutA, class LayoutB>
void mma_sync(fragment<accumulator, m, n, k, float>& d,
              const fragment<matrix_a, m, n, k, __half, LayoutA>& a,
              const fragment<matrix_b, m, n, k, __half, LayoutB>& b,
              const fragment<accumulator, m, n, k, float>& c) {
    static float left[32][256];
    static float right[32][256];
    const unsigned warp = threadIdx.x / 32;
    for (int e = 0; e < a.num_elements; ++e) {
        left[warp][a.place(e)] = __half2float(a.x[e]);
        right[warp][b.place(e)] = __half2float(b.x[e]);
    }
    raceline::test::Machine::get().wait_for_warp();
    for (int e = 0; e < c.num_elements; ++e) {
        double sum = c.x[e];
        for (int i = 0; i < emulated_side; ++i) {
            sum += static_cast<double>(left[warp][c.row(e) * emulated_side + i]) *
                   right[warp][i * emulated_side + c.column(e)];
        }
        d.x[e] = toward_zero(sum);
    }
    raceline::test::Machine::get().wait_for_warp();
}

}  // namespace nvcuda::wmma
