// SPDX-License-Identifier: Apache-2.0
// The emulated GPU of tests/kernels/emulated with what the rungs of the decode ladder use beside.
#pragma once

#include <array>
#include <deque>
#include <utility>

#include "machine.cuh"

namespace raceline::test {

/// What every thread shows the others of its warp, for instructions that all of them take part in.
inline std::vector<std::array<const void*, 2>>& warp_pointers() {
    static std::vector<std::array<const void*, 2>> pointers(1024);
    return pointers;
}

/// Asynchronous copies of one thread, in groups.
class Copies {
public:
    void start(std::uint32_t to, const void* from, int bytes) {
        std::memset(dynamic_shared<char>() + to, 0xFF, 16);
        open_.push_back({to, from, bytes});
    }
    void commit() { groups_.push_back(std::exchange(open_, {})); }
    void wait(std::size_t pending) {
        for (; groups_.size() > pending; groups_.pop_front()) {
            for (const Copy& c : groups_.front()) {
                std::memset(dynamic_shared<char>() + c.to, 0, 16);
                std::memcpy(dynamic_shared<char>() + c.to, c.from, c.bytes);
            }
        }
    }

private:
    struct Copy {
        std::uint32_t to;
        const void* from;
        int bytes;
    };
    std::vector<Copy> open_;
    std::deque<std::vector<Copy>> groups_;
};
inline Copies& copies_of_thread() {
    static std::vector<Copies> copies(1024);
    return copies.at(threadIdx.x);
}

}  // namespace raceline::test

inline std::size_t __cvta_generic_to_shared(const void* pointer) {
    return static_cast<std::size_t>(static_cast<const char*>(pointer) -
                                    raceline::test::dynamic_shared<char>());
}
