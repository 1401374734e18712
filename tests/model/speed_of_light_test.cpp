// SPDX-License-Identifier: Apache-2.0
#include "model/speed_of_light.hpp"

#include <gtest/gtest.h>

#include "device/catalog.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

Device with_rates(std::initializer_list<std::pair<const char*, double>> rates) {
    Device device;
    device.id = "made";
    device.kind = DeviceKind::cuda;
    for (const auto& [id, value] : rates) {
        device.rates[id] = {value, "datasheet: a test", 0, "", 0};
    }
    return device;
}

SpeedOfLight bound_of(const Device& device, const std::string& shape, bool cold = true) {
    return speed_of_light(device, parse_shape(shape),
                          {.cold = cold, .launch_path = "graph", .threads = 0});
}

const Device& made() {
    static const Device device = with_rates({{"byte.dram_read", 1e12},
                                             {"byte.dram_write", 5e11},
                                             {"flop.fma.fp32", 1e13},
                                             {"flop.mma.bf16", 1e14},
                                             {"flop.mma.fp16", 2e14},
                                             {"flop.mma.tf32", 6e13},
                                             {"flop.mma.e4m3", 4e14},
                                             {"flop.fma.fp16", 9e14},
                                             {"flop.mma.fp16_acc16", 8e14},
                                             {"floor.launch_graph", 1e-6}});
    return device;
}

TEST(SpeedOfLight, is_the_largest_of_bytes_operations_and_the_launch_floor) {
    // 4·2·4096²·128 operations; Q, K and V of 2·4096·128 elements, and the output.
    const SpeedOfLight dense = bound_of(made(), "h=2,q=4096,k=4096,d=128,dtype=bf16");
    const double flops = 4.0 * 2 * 4096 * 4096 * 128;
    const double tensor = 2.0 * 4096 * 128 * 2;
    EXPECT_DOUBLE_EQ(dense.compute_seconds, flops / 1e14);
    EXPECT_DOUBLE_EQ(dense.memory_seconds, 3 * tensor / 1e12 + tensor / 5e11);
    EXPECT_EQ(dense.launch_seconds, 1e-6);
    EXPECT_EQ(dense.seconds, dense.compute_seconds);
    EXPECT_EQ(dense.limiter, "flop.mma.bf16");
    EXPECT_DOUBLE_EQ(dense.arithmetic_intensity, flops / (4 * tensor));
    EXPECT_DOUBLE_EQ(dense.ridge, 1e14 * dense.memory_seconds / (4 * tensor));

    const SpeedOfLight decode = bound_of(made(), "h=8,q=1,k=65536,d=128,dtype=bf16");
    EXPECT_EQ(decode.limiter, "dram");
    EXPECT_EQ(decode.seconds, decode.memory_seconds);
    EXPECT_EQ(decode.engine, "flop.mma.bf16");
    EXPECT_LT(decode.arithmetic_intensity, decode.ridge);

    EXPECT_EQ(bound_of(made(), "h=1,q=1,k=1,d=64,dtype=bf16").limiter, "launch");
}

// A bound that a copy beats would be none.
TEST(SpeedOfLight, a_copy_at_its_ceiling_is_not_faster_than_the_bound) {
    const auto seconds = [](double read, double write, double copy) {
        const Device device = with_rates({{"byte.dram_read", read},
                                          {"byte.dram_write", write},
                                          {"byte.dram_copy", copy},
                                          {"flop.fma.fp32", 1e15}});
        return speed_of_light(device, parse_shape("op=relu,n=1000x1000,dtype=fp32"), {}).seconds;
    };
    const double apart = 4e6 / 30e9 + 4e6 / 20e9;
    EXPECT_DOUBLE_EQ(seconds(30e9, 20e9, 36e9), 8e6 / 36e9) << "reads and writes pass each other";
    EXPECT_LT(seconds(30e9, 20e9, 36e9), apart);
    EXPECT_DOUBLE_EQ(seconds(30e9, 20e9, 20e9), apart) << "what turning round costs is no bound";
    EXPECT_DOUBLE_EQ(seconds(30e9, 20e9, 90e9), 4e6 / 20e9) << "no faster than the slower one";
}

TEST(SpeedOfLight, takes_the_fastest_engine_that_rounds_no_input) {
    const auto engine = [](const std::string& types) {
        return bound_of(made(), "h=1,q=4096,k=4096,d=64," + types).engine;
    };
    EXPECT_EQ(engine("dtype=bf16"), "flop.mma.bf16");
    EXPECT_EQ(engine("dtype=fp16"), "flop.mma.fp16") << "never one that adds in half precision";
    EXPECT_EQ(engine("dtype=e4m3,kv=e4m3"), "flop.mma.e4m3");
    EXPECT_EQ(engine("dtype=fp16,kv=e4m3"), "flop.mma.fp16") << "8-bit keys, 16-bit queries";
    // Three products of tf32 or six of bf16 make one of fp32.
    const SpeedOfLight wide = bound_of(made(), "h=1,q=4096,k=4096,d=64,dtype=fp32");
    EXPECT_EQ(wide.engine, "flop.mma.tf32");
    EXPECT_DOUBLE_EQ(wide.compute_seconds, 3 * 4.0 * 4096 * 4096 * 64 / 6e13);
}

TEST(SpeedOfLight, of_a_product_charges_no_step_behind_it_to_its_engine) {
    const double product =
        bound_of(made(), "op=linear,m=4096,n=4096,k=32,dtype=bf16").compute_seconds;
    EXPECT_DOUBLE_EQ(product, 2.0 * 4096 * 4096 * 32 / 1e14);
    EXPECT_DOUBLE_EQ(
        bound_of(made(), "op=linear+bias+gelu,m=4096,n=4096,k=32,dtype=bf16").compute_seconds,
        product);
}

TEST(SpeedOfLight, goes_by_the_highest_rate_known_of_an_engine) {
    Device device = made();
    device.rates["flop.mma.bf16.burst"] = {1.2e14, "probe: a test", 0, "burst", 0};
    EXPECT_EQ(bound_of(device, "h=1,q=4096,k=4096,d=64,dtype=bf16").rates, "committed");
    device.rates["flop.mma.bf16.datasheet"] = {1.5e14, "datasheet: a test", 0, "", 0};
    const SpeedOfLight bound = bound_of(device, "h=1,q=4096,k=4096,d=64,dtype=bf16");
    EXPECT_EQ(bound.engine, "flop.mma.bf16");
    EXPECT_DOUBLE_EQ(bound.compute_seconds, 4.0 * 4096 * 4096 * 64 / 1.5e14);
    EXPECT_EQ(bound.rates, "datasheet");
}

TEST(SpeedOfLight, of_a_warm_call_leaves_out_what_the_cache_holds) {
    Device device = made();
    const std::string shape = "h=8,q=1,k=65536,d=128,dtype=bf16";
    const double all = bound_of(device, shape).memory_seconds;
    EXPECT_DOUBLE_EQ(bound_of(device, shape, false).memory_seconds, all);
    const Workload w = parse_shape(shape);
    device.llc_bytes = static_cast<std::int64_t>((w.bytes_read() + w.bytes_written()) / 4);
    EXPECT_NEAR(bound_of(device, shape, false).memory_seconds, 0.75 * all, 1e-9 * all);
    EXPECT_DOUBLE_EQ(bound_of(device, shape).memory_seconds, all);
    device.llc_bytes *= 8;
    EXPECT_EQ(bound_of(device, shape, false).memory_seconds, 0);
}

// Who sees no key answers without its query: only the outputs pass.
TEST(SpeedOfLight, of_queries_without_keys_is_what_they_write) {
    const Workload w = parse_shape("b=5,h=32,q=64,k=0,d=128,dtype=bf16");
    EXPECT_EQ(w.bytes_read(), 0);
    EXPECT_EQ(w.bytes_written(), 5.0 * 32 * 64 * 128 * 2);
    EXPECT_EQ(parse_shape("b=5,h=32,q=64,k=1,d=128,dtype=bf16").bytes_read(),
              w.bytes_q() + 5.0 * 32 * 2 * 128 * 2);
}

TEST(SpeedOfLight, has_an_engine_on_every_device) {
    const LaunchCase how{.cold = true, .launch_path = "graph", .threads = 0};
    for (const std::string& id : device_ids()) {
        const Device device = datasheet_device(id);
        for (const char* dtype : {"fp32", "fp16", "bf16", "e4m3,kv=e4m3"}) {
            const SpeedOfLight bound = speed_of_light(
                device, parse_shape(std::string("h=8,q=4096,k=4096,d=128,dtype=") + dtype), how);
            EXPECT_GT(bound.seconds, 0) << id << ' ' << dtype;
            EXPECT_EQ(bound.limiter, bound.engine) << id << ' ' << dtype;
            EXPECT_EQ(bound.rates, "datasheet") << id << ' ' << dtype;
        }
    }
    const Device empty;
    EXPECT_EQ(bound_of(empty, "h=1,q=1,k=1,d=64,dtype=bf16").limiter, "");
}

}  // namespace
}  // namespace raceline
