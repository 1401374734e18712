// SPDX-License-Identifier: Apache-2.0
// Stands in for the toolkit's WMMA: fragments are spread over a warp's lanes in an order of its
// own, as the manual allows, so that a kernel which counts on a GPU's order gives a wrong answer.
#pragma once

#include "decode_machine.cuh"

namespace nvcuda::wmma {

struct matrix_a {};
struct matrix_b {};
struct accumulator {};
struct row_major {};
struct col_major {};
enum layout_t { mem_row_major, mem_col_major };

/// 16 x 16 elements, eight a lane.
template <class Use, int, int, int, class T, class Layout = void>
struct fragment {
    static constexpr int num_elements = 8;
    T x[8];
};

// The place of lane's element i in the matrix, row-major; and back.
inline int place_of(int lane, int i) {
    return (i * 32 + lane) * 37 % 256;
}
inline int index_of(int place) {  // 37 * 173 = 1 modulo 256
    return place * 173 % 256;
}
inline int lane() {
    return static_cast<int>(threadIdx.x % 32);
}
inline void check_pointer(const void* pointer, unsigned bytes_of_row) {
    if (reinterpret_cast<std::uintptr_t>(pointer) % 32 != 0 || bytes_of_row % 16 != 0) {
        throw std::logic_error("WMMA wants pointers of 32 bytes and rows of 16");
    }
}

template <class Use, class T, class Layout>
void load_elements(fragment<Use, 16, 16, 16, T, Layout>& f, const T* from, unsigned pitch,
                   bool by_columns) {
    check_pointer(from, pitch * sizeof(T));
    for (int i = 0; i < 8; ++i) {
        const int place = place_of(lane(), i);
        const unsigned row = place / 16, column = place % 16;
        f.x[i] = by_columns ? from[column * pitch + row] : from[row * pitch + column];
    }
}
template <class Use, class T, class Layout>
void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& f, const T* from, unsigned pitch) {
    load_elements(f, from, pitch, std::is_same_v<Layout, col_major>);
}
inline void load_matrix_sync(fragment<accumulator, 16, 16, 16, float>& f, const float* from,
                             unsigned pitch, layout_t layout) {
    load_elements(f, from, pitch, layout == mem_col_major);
}
inline void store_matrix_sync(float* to, const fragment<accumulator, 16, 16, 16, float>& f,
                              unsigned pitch, layout_t layout) {
    check_pointer(to, pitch * sizeof(float));
    for (int i = 0; i < 8; ++i) {
        const int place = place_of(lane(), i);
        const unsigned row = place / 16, column = place % 16;
        to[layout == mem_row_major ? row * pitch + column : column * pitch + row] = f.x[i];
    }
}
template <class F, class T>
void fill_fragment(F& f, T value) {
    std::fill(f.x, f.x + 8, value);
}

template <class A, class B>
void mma_sync(fragment<accumulator, 16, 16, 16, float>& d, const A& a, const B& b,
              const fragment<accumulator, 16, 16, 16, float>& c) {
    auto& slots = raceline::test::warp_pointers();
    slots.at(threadIdx.x) = {&a, &b};
    raceline::test::Machine::get().wait_for_warp();
    const auto element = [&](auto* kind, int side, int row, int column) {
        const int index = index_of(row * 16 + column);
        const auto of_lane = threadIdx.x / 32 * 32 + index % 32;
        return static_cast<double>(
            __half2float(static_cast<decltype(kind)>(slots.at(of_lane)[side])->x[index / 32]));
    };
    float sums[8];
    for (int i = 0; i < 8; ++i) {
        const int place = place_of(lane(), i);
        double sum = c.x[i];
        for (int k = 0; k < 16; ++k) {
            sum += element(&a, 0, place / 16, k) * element(&b, 1, k, place % 16);
        }
        sums[i] = static_cast<float>(sum);
    }
    raceline::test::Machine::get().wait_for_warp();
    std::copy(sums, sums + 8, d.x);
}

}  // namespace nvcuda::wmma
