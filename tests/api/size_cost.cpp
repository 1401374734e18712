// SPDX-License-Identifier: Apache-2.0
// What predictions of many sizes cost on this machine: SizeModel::at one by one, in processor and
// in wall-clock time, and SizeModel::at_all over a million points on two threads. It fails no test:
// figures depend on what else runs. Run by hand, on a quiet machine: build/tests/size_cost
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <raceline/raceline.hpp>
#include <raceline/sizes.hpp>
#include <vector>

namespace {

constexpr std::int64_t points = 1'000'000, once = 50'000;

struct Case {
    const char* shape;
    const char* varying;
};
constexpr std::array cases{Case{"op=linear,m=1,n=4096,k=4096", "m"},
                           Case{"op=silu+mul,n=1x4096,dtype=bf16", "rows"},
                           Case{"op=add+store+rmsnorm,n=1x4096,dtype=bf16", "rows"},
                           Case{"op=softmax,n=1x32000,dtype=bf16", "rows"},
                           Case{"op=rope,n=1x4096", "rows"},
                           Case{"op=embedding,tokens=1,vocab=32000,d=4096", "tokens"},
                           Case{"op=crossentropy,n=1x128", "rows"},
                           Case{"op=adam,n=1x4096,dtype=bf16", "rows"},
                           Case{"h=32/8,q=1,k=8192,d=128", "b"}};

double processor_seconds() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

double wall_seconds() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
}

void measure(const Case& one) {
    const raceline::SizeModel model(one.shape, {one.varying}, "h200");
    double sum = 0;
    const double processor = processor_seconds(), wall = wall_seconds();
    for (std::int64_t i = 0; i < once; ++i) {
        const std::array<std::int64_t, 1> size{i % 4096 + 1};
        sum += model.at(size).seconds;
    }
    const double each = (processor_seconds() - processor) / once;
    const double each_of_wall = (wall_seconds() - wall) / once;
    std::vector<std::int64_t> sizes(points);
    for (std::int64_t i = 0; i < points; ++i) {
        sizes[static_cast<std::size_t>(i)] = i % 4096 + 1;
    }
    const double begin = wall_seconds();
    sum += model.at_all(sizes, 2).back().seconds;
    std::printf("%-42s %10.2f %10.2f %10.2f%s\n", one.shape, each * 1e6, each_of_wall * 1e6,
                wall_seconds() - begin, sum > 0 ? "" : "  (no kernel serves it)");
}

}  // namespace

int main() {
    std::printf("%-42s %10s %10s %10s\n", "", "us of CPU", "us of wall", "s a million");
    for (const Case& one : cases) {
        measure(one);
    }
    return 0;
}
