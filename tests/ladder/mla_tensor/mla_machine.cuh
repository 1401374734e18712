// SPDX-License-Identifier: Apache-2.0
// The Hopper SM of tests/kernels/emulated_sm90 with what mla_tensor uses beside.
#pragma once

#include "machine.cuh"

namespace raceline::test {

/// Asynchronous copies of one thread, in groups. A copy lands as late as its wait allows, and until
/// then its target holds NaN: a wait too few, or a stage filled while it is read, gives a wrong
/// answer.
class Copies {
public:
    void start(std::uint32_t to, const void* from, int bytes) {
        std::memset(Machine::get().at(to, 16), 0xFF, 16);
        open_.push_back({to, from, static_cast<std::size_t>(bytes)});
    }
    void commit() { groups_.push_back(std::exchange(open_, {})); }
    void wait(std::size_t pending) {
        for (; groups_.size() > pending; groups_.pop_front()) {
            for (const Copy& c : groups_.front()) {
                std::byte* to = Machine::get().at(c.to, 16);
                std::memset(to, 0, 16);
                std::memcpy(to, c.from, c.bytes);
            }
        }
    }

private:
    struct Copy {
        std::uint32_t to;
        const void* from;
        std::size_t bytes;
    };
    std::vector<Copy> open_;
    std::deque<std::vector<Copy>> groups_;
};
inline Copies& copies_of_thread() {
    static std::vector<Copies> copies(1024);
    return copies.at(threadIdx.x);
}

}  // namespace raceline::test

template <class T>
T __ldg(const T* from) {
    return *from;
}
inline int __clz(int x) {
    return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x));
}
using std::min;
