// SPDX-License-Identifier: Apache-2.0
// Tensor maps and the copy engine of the emulated SM.
#include "machine.cuh"

namespace raceline::test {
namespace {

CUresult encode(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* base,
                const cuuint64_t* sizes, const cuuint64_t* strides, const cuuint32_t* box,
                const cuuint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
    MapRecord record{};
    record.element = type == CU_TENSOR_MAP_DATA_TYPE_UINT8 ? 1 : 2;
    record.swizzle = swizzle == CU_TENSOR_MAP_SWIZZLE_128B ? 128 : 64;
    bool good = rank == 4 &&
                (swizzle == CU_TENSOR_MAP_SWIZZLE_128B || swizzle == CU_TENSOR_MAP_SWIZZLE_64B) &&
                reinterpret_cast<std::uintptr_t>(base) % 16 == 0 &&
                box[0] * record.element == record.swizzle;
    for (int i = 0; i < 4; ++i) {
        good = good && sizes[i] > 0 && box[i] > 0 && box[i] <= 256 && steps[i] == 1;
        record.sizes[i] = sizes[i];
        record.box[i] = box[i];
        if (i < 3) {
            good = good && strides[i] > 0 && strides[i] % 16 == 0;
            record.strides[i] = strides[i];
        }
    }
    record.base = static_cast<std::byte*>(base);
    static_assert(sizeof(record) <= sizeof(CUtensorMap));
    std::memcpy(map, &record, sizeof(record));
    return good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

MapRecord record_of(const void* map) {
    MapRecord m{};
    std::memcpy(&m, map, sizeof(m));
    return m;
}

// Calls element(its byte in the tensor or null if outside, its address in shared memory).
template <class Element>
void for_each_element(const MapRecord& m, const std::array<int, 4>& start, std::uint32_t place,
                      const Element& element) {
    for (std::uint32_t row = 0; row < m.box[1]; ++row) {
        for (std::uint32_t column = 0; column < m.box[0]; ++column) {
            const std::array<std::int64_t, 4> c{start[0] + std::int64_t{column},
                                                start[1] + std::int64_t{row}, start[2], start[3]};
            bool inside = true;
            std::int64_t offset = m.element * c[0];
            for (std::size_t i = 0; i < 4; ++i) {
                inside = inside && c[i] >= 0 && c[i] < static_cast<std::int64_t>(m.sizes[i]);
                offset += i == 0 ? 0 : c[i] * static_cast<std::int64_t>(m.strides[i - 1]);
            }
            element(inside ? m.base + offset : nullptr,
                    swizzled(place + row * m.swizzle + column * m.element, m.swizzle));
        }
    }
}

}  // namespace

std::uint32_t swizzled(std::uint32_t address, std::uint32_t swizzle) {
    return address ^ ((address >> 7U & (swizzle / 16 - 1)) << 4U);
}

cudaError_t find_driver_function(const char* name, void** function, unsigned, unsigned long long,
                                 cudaDriverEntryPointQueryResult* found) {
    const bool known = std::strcmp(name, "cuTensorMapEncodeTiled") == 0;
    *function = known ? reinterpret_cast<void*>(&encode) : nullptr;
    *found = known ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return cudaSuccess;
}

void Machine::copy_box(std::uint32_t to, const void* map, std::array<int, 4> from,
                       std::uint32_t barrier) {
    copies_.push_back([=, this, m = record_of(map)] {
        std::int64_t bytes = 0;
        for_each_element(m, from, to, [&](std::byte* global, std::uint32_t shared) {
            std::memset(at(shared, m.element), 0, m.element);
            if (global != nullptr) {
                std::memcpy(at(shared, m.element), global, m.element);
            }
            bytes += m.element;
        });
        copied_ += bytes;
        arrive(barrier, -bytes, false);
    });
}

void Machine::store_box(const void* map, std::array<int, 4> to, std::uint32_t from) {
    int& group = me().stores.back();
    ++group;
    copies_.push_back([=, this, &group, m = record_of(map)] {
        for_each_element(m, to, from, [&](std::byte* global, std::uint32_t shared) {
            if (global != nullptr) {
                std::memcpy(global, at(shared, m.element), m.element);
            }
        });
        --group;
    });
}

void Machine::commit_stores() {
    me().stores.push_back(0);  // a deque: references to the others stay good
}

void Machine::wait_stores(std::size_t pending) {
    const std::deque<int>& groups = me().stores;
    const std::size_t count = groups.size() - 1;  // committed
    for (std::size_t i = 0; i + pending < count; ++i) {
        while (groups[i] > 0) {
            pause();
        }
    }
}

}  // namespace raceline::test
