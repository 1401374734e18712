// SPDX-License-Identifier: Apache-2.0
#include "machine.cuh"

namespace raceline::test {

std::vector<uint3> any_order(dim3 grid) {
    static std::mt19937 random(3);
    std::vector<uint3> ctas;
    for (unsigned y = 0; y < grid.y; ++y) {
        for (unsigned x = 0; x < grid.x; ++x) {
            ctas.push_back({x, y, 0});
        }
    }
    std::shuffle(ctas.begin(), ctas.end(), random);
    return ctas;
}

Machine& Machine::get() {
    static Machine machine;
    return machine;
}

std::byte* Machine::at(std::uint32_t address, std::size_t bytes) {
    if (address < first_address || address + bytes > first_address + shared_bytes_) {
        throw std::logic_error("an access outside the CTA's shared memory");
    }
    return shared_.data() + (address - first_address);
}

void Machine::enter() {
    Machine& m = get();
    m.body_();
    m.me().ended = true;
    m.moved();
    m.pause();
}

void Machine::pause() {
    swapcontext(&me().context, &scheduler_);
}

void Machine::run_cta(unsigned threads, std::size_t shared_bytes,
                      const std::function<void()>& body) {
    constexpr int idle_passes = 200;
    threads_ = threads;
    body_ = body;
    fibers_ = std::vector<Fiber>(threads);
    warps_.assign(threads / 32, {});
    warpgroups_.assign(threads / 128, {});
    barriers_.clear();
    named_ = {};
    copies_.clear();
    shared_bytes_ = shared_bytes;
    std::fill_n(shared_.begin(), shared_bytes, std::byte{0xff});  // NaN
    std::vector<unsigned> order;
    for (unsigned i = 0; i < threads; ++i) {
        Fiber& f = fibers_[i];
        getcontext(&f.context);
        f.context.uc_stack.ss_sp = f.stack.data();
        f.context.uc_stack.ss_size = f.stack.size();
        makecontext(&f.context, &Machine::enter, 0);
        order.push_back(i);
    }
    int idle = 0;
    unsigned sleeper = 0;
    unsigned passes_asleep = 0;
    while (!order.empty()) {
        const std::uint64_t before = moves_;
        std::shuffle(order.begin(), order.end(), random_);
        // Now and then a warp stands still while the others go as far as they can without it.
        if (passes_asleep == 0 && random_() % 16 == 0) {
            sleeper = static_cast<unsigned>(random_() % (threads / 32));
            passes_asleep = static_cast<unsigned>(random_() % 400);
        }
        for (const unsigned i : order) {
            if (passes_asleep == 0 || i / 32 != sleeper) {
                threadIdx = {i, 0, 0};
                swapcontext(&scheduler_, &fibers_[i].context);
            }
        }
        std::erase_if(order, [&](unsigned i) { return fibers_[i].ended; });
        work_behind_the_scenes(passes_asleep > 0);
        if (passes_asleep > 0) {
            passes_asleep = moves_ == before ? 0 : passes_asleep - 1;
        }
        idle = moves_ == before ? idle + 1 : 0;
        if (idle > idle_passes) {
            throw std::logic_error("the CTA is deadlocked");
        }
    }
    for (const Named& barrier : named_) {
        if (barrier.threads != 0) {
            throw std::logic_error("a named barrier is left half full");
        }
    }
    if (!copies_.empty()) {
        throw std::logic_error("a copy is under way after the CTA's end");
    }
}

void Machine::work_behind_the_scenes(bool copies_only) {
    if (!copies_.empty() && random_() % 2 == 0) {
        const std::size_t which = random_() % copies_.size();
        const auto copy = copies_[which];
        copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(which));
        copy();
        moved();
    }
    if (!copies_only && random_() % 4 == 0) {
        execute_next(warpgroups_[random_() % warpgroups_.size()]);
    }
}

void Machine::init_barrier(std::uint32_t address, std::uint32_t arrivals) {
    at(address, 8);
    barriers_[address] = {arrivals, arrivals, 0, 0};
}

void Machine::settle(Barrier& barrier) {
    if (barrier.pending == 0 && barrier.bytes == 0) {
        barrier.pending = barrier.arrivals;
        ++barrier.phase;
    }
    moved();
}

void Machine::arrive(std::uint32_t address, std::int64_t bytes, bool counts) {
    Barrier& barrier = barriers_.at(address);
    if (counts && barrier.pending == 0) {
        throw std::logic_error("more arrivals at an mbarrier than its phase has");
    }
    barrier.pending -= counts ? 1 : 0;
    barrier.bytes += bytes;
    settle(barrier);
}

void Machine::wait_parity(std::uint32_t address, std::uint32_t parity) {
    const Barrier& barrier = barriers_.at(address);
    while (barrier.phase % 2 == parity) {
        pause();
    }
}

void Machine::named_barrier(int number, int threads, bool waits) {
    Named& barrier = named_[static_cast<std::size_t>(number)];
    const std::uint64_t generation = barrier.generation;
    if (++barrier.threads == threads) {
        barrier.threads = 0;
        ++barrier.generation;
    } else if (barrier.threads > threads) {
        throw std::logic_error("a named barrier is used with two counts");
    }
    moved();
    while (waits && barrier.generation == generation) {
        pause();
    }
}

std::uint32_t Machine::exchange(std::uint32_t mine, unsigned from_lane) {
    Warp& warp = warps_[threadIdx.x / 32];
    const std::uint64_t generation = warp.generation;
    auto& slots = warp.slots[generation % 2];
    slots[threadIdx.x % 32] = mine;
    if (++warp.arrived == 32) {
        warp.arrived = 0;
        ++warp.generation;
        moved();
    }
    while (warp.generation == generation) {
        pause();
    }
    return slots[from_lane];
}

void Machine::start_product(const Product& of_thread, float* d, const std::uint32_t* a_words) {
    Warpgroup& group = warpgroups_[threadIdx.x / 128];
    const std::size_t index = me().products++ - group.executed;
    if (index >= group.products.size()) {
        group.products.push_back(of_thread);
    }
    Product& product = group.products.at(index);
    if (product.a != of_thread.a || product.b != of_thread.b ||
        product.accumulate != of_thread.accumulate || product.columns != of_thread.columns) {
        throw std::logic_error("threads of a warpgroup start different products");
    }
    product.d[threadIdx.x % 128] = d;
    product.a_words[threadIdx.x % 128] = a_words;
    ++product.threads;
    moved();
}

void Machine::commit_group() {
    me().groups.push_back(me().products);
}

void Machine::wait_group(std::size_t pending) {
    if (me().groups.size() <= pending) {
        return;
    }
    const std::size_t target = me().groups[me().groups.size() - 1 - pending];
    Warpgroup& group = warpgroups_[threadIdx.x / 128];
    while (group.executed < target) {
        if (!execute_next(group)) {
            pause();
        }
    }
}

}  // namespace raceline::test
