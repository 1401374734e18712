// SPDX-License-Identifier: Apache-2.0
// The L2 as two halves with a link between them. Each line is at home in one half. An SM asks the
// half that it stands at, which fetches from the other what is at home there and keeps a copy.
#include <algorithm>
#include <array>

#include "probe/gpu_chase.hpp"
#include "probe/gpu_steps.hpp"
#include "probe/l2_halves.hpp"

namespace raceline::probe {
namespace {

constexpr std::uint32_t blocks_by_unit = 512;

using Words = std::vector<std::uint32_t>;

Words words_of(const cuda::DeviceBuffer& buffer) {
    Words words(buffer.bytes() / sizeof(std::uint32_t));
    cuda::download(words.data(), buffer.data(), buffer.bytes());
    return words;
}

std::uint32_t* as_words(const cuda::DeviceBuffer& buffer) {
    return reinterpret_cast<std::uint32_t*>(buffer.data());
}

// Blocks by where they are at home, on the device as well.
class HomedBlocks {
public:
    HomedBlocks(const UnitSides& units, std::span<const std::uint32_t> cycles,
                std::span<const std::uint32_t> unit)
        : sides_(units.sides.size()), taken_(2 * sizeof(std::uint32_t)) {
        for (std::uint32_t block = 0; block < cycles.size(); ++block) {
            homes_[units.home(unit[block], cycles[block])].push_back(block);
        }
        for (int home = 0; home < 2; ++home) {
            lists_[home] = cuda::DeviceBuffer(homes_[home].size() * sizeof(std::uint32_t));
            cuda::upload(lists_[home].data(), homes_[home].data(), lists_[home].bytes());
        }
        cuda::upload(sides_.data(), units.sides.data(), sides_.bytes());
        cuda::synchronize();
    }
    [[nodiscard]] bool usable() const { return !homes_[0].empty() && !homes_[1].empty(); }
    [[nodiscard]] const Words& at_home(int side) const { return homes_[side]; }

    /// For the SMs of each side the blocks of its own half, or those of the other.
    [[nodiscard]] ListedBlocks for_sides(bool own) const {
        ListedBlocks listed{};
        for (int side = 0; side < 2; ++side) {
            const int home = own ? side : 1 - side;
            listed.blocks[side] = as_words(lists_[home]);
            listed.counts[side] = static_cast<std::uint32_t>(homes_[home].size());
        }
        listed.sides = reinterpret_cast<const std::uint8_t*>(sides_.data());
        listed.units = static_cast<std::uint32_t>(sides_.bytes());
        listed.taken = as_words(taken_);
        return listed;
    }

private:
    std::array<Words, 2> homes_;
    std::array<cuda::DeviceBuffer, 2> lists_;
    cuda::DeviceBuffer sides_, taken_;
};

std::optional<UnitSides> find_sides(GpuSetting& with, const cuda::DeviceBuffer& buffer) {
    const auto units = static_cast<std::size_t>(with.device.units);
    const cuda::DeviceBuffer cycles(units * blocks_by_unit * sizeof(std::uint32_t));
    cuda::fill(cycles.data(), 0, cycles.bytes());
    cuda::synchronize();
    with.kernels.atomic_by_unit(with.device.units, static_cast<int>(with.device.smem_bytes_per_cta),
                                buffer.data(), blocks_by_unit, as_words(cycles),
                                with.timer.stream().get());
    cuda::check_launch("the probe of the L2's halves");
    with.timer.stream().synchronize();
    return sides_of_units(words_of(cycles), units);
}

HomedBlocks find_homes(GpuSetting& with, const cuda::DeviceBuffer& buffer, const UnitSides& units) {
    const auto blocks = static_cast<std::uint32_t>(buffer.bytes() / home_block_bytes);
    const cuda::DeviceBuffer cycles(blocks * sizeof(std::uint32_t));
    const cuda::DeviceBuffer unit(blocks * sizeof(std::uint32_t));
    with.kernels.atomic_once(with.device.units, buffer.data(), blocks, as_words(cycles),
                             as_words(unit), with.timer.stream().get());
    cuda::check_launch("the probe of the L2's halves");
    with.timer.stream().synchronize();
    return {units, words_of(cycles), words_of(unit)};
}

void probe_link(GpuSetting& with, const cuda::DeviceBuffer& buffer, const UnitSides& units,
                const HomedBlocks& homed, std::vector<Ceiling>& out) {
    const auto pass = [&](bool own) {
        return with.timer.best(
            [&](GpuSpan* span, void* stream) {
                return with.kernels.read_listed(2 * with.device.units, buffer.data(),
                                                homed.for_sides(own), span, stream);
            },
            "");
    };
    const GpuPass near = pass(true);
    out.push_back(gpu_ceiling(
        "byte.l2_link", "byte/s", pass(false), with.device,
        fmt::format(
            "every SM reads from DRAM what is at home in the other half of the L2, {} MiB "
            "in all, shortest launch. What is at home in its own half comes at {:.2f} TB/s. "
            "Blocks of 4 KiB are told apart by how long an atomic operation takes: {:.0f} "
            "and {:.0f} clocks",
            buffer.bytes() / mebibyte, near.rate / 1e12, units.near_cycles, units.far_cycles)));
}

// Nodes in blocks that are at home in the other half than SM 0's, in a random cycle.
std::vector<std::byte> far_chain(const Words& blocks, std::uint32_t nodes_of_block) {
    constexpr std::size_t word = sizeof(std::uint32_t);
    const auto nodes = static_cast<std::uint32_t>(blocks.size()) * nodes_of_block;
    const Words order = random_cycle(nodes);
    const auto offset = [&](std::uint32_t node) {
        return static_cast<std::uint32_t>(blocks[node / nodes_of_block] * home_block_bytes +
                                          node % nodes_of_block *
                                              (home_block_bytes / nodes_of_block));
    };
    std::vector<std::byte> image((std::size_t{blocks.back()} + 1) * home_block_bytes);
    for (std::uint32_t node = 0; node < nodes; ++node) {
        const std::uint32_t next = offset(order[node]);
        std::copy_n(reinterpret_cast<const std::byte*>(&next), word, image.data() + offset(node));
    }
    return image;
}

// SMs of the other half have read the lines, which are then there and nowhere else; SM 0 follows
// them, each once, so that none is a copy of its own.
void probe_far_latency(GpuSetting& with, const cuda::DeviceBuffer& buffer, const UnitSides& units,
                       const HomedBlocks& homed, std::vector<Ceiling>& out) {
    constexpr std::size_t blocks = 1024;
    constexpr std::uint32_t nodes_of_block = 8;
    Words far = homed.at_home(1);
    if (far.size() < blocks) {
        return;
    }
    far.resize(blocks);
    const auto image = far_chain(far, nodes_of_block);
    cuda::upload(buffer.data(), image.data(), image.size());
    const cuda::DeviceBuffer list(blocks * sizeof(std::uint32_t));
    cuda::upload(list.data(), far.data(), list.bytes());
    const cuda::DeviceBuffer at(sizeof(std::uint32_t));
    const cuda::DeviceBuffer other(4 * cuda::l2_bytes());
    ListedBlocks listed = homed.for_sides(true);
    listed.blocks[1] = as_words(list);
    listed.counts[0] = 0;
    listed.counts[1] = blocks;
    const auto first = static_cast<std::uint32_t>(far.front() * home_block_bytes);
    const int steps = static_cast<int>(blocks * nodes_of_block);
    const cuda::Stream& stream = with.timer.stream();
    const cuda::StreamTimer timer;
    GpuPass best;
    for (int repetition = 0; repetition < (with.timer.quick() ? 2 : 5); ++repetition) {
        cuda::fill(other.data(), 1, other.bytes());
        cuda::upload(at.data(), &first, sizeof(first));
        cuda::synchronize();
        with.kernels.read_listed(2 * with.device.units, buffer.data(), listed, nullptr,
                                 stream.get());
        timer.begin(stream);
        with.kernels.chase_on(0, with.device.units,
                              static_cast<int>(with.device.smem_bytes_per_cta), buffer.data(),
                              as_words(at), steps, stream.get());
        timer.end(stream);
        cuda::check_launch("the probe of the L2's halves");
        stream.synchronize();
        const double seconds = timer.seconds() / steps;
        best.seconds = best.seconds > 0 ? std::min(best.seconds, seconds) : seconds;
    }
    out.push_back(gpu_ceiling(
        "latency.l2.far", "s", best, with.device,
        fmt::format("pointer chase past L1 by one thread through {} nodes, each once, that lie in "
                    "the other half of the L2 alone, shortest of several runs. An atomic operation "
                    "takes {:.0f} clocks in the own half, {:.0f} in the other",
                    steps, units.near_cycles, units.far_cycles)));
}

void probe_half_size(GpuSetting& with, std::vector<Ceiling>& out) {
    constexpr std::uint32_t stride = 128;
    std::vector<FootprintTime> sweep;
    std::string text;
    for (const int sixteenths : {4, 6, 7, 8, 9, 10, 12}) {
        const std::size_t bytes = cuda::l2_bytes() * sixteenths / 16 / stride * stride;
        const auto nodes = static_cast<int>(bytes / stride);
        const double seconds = chase_pass(with, {bytes, stride, nodes, true}).seconds;
        sweep.push_back({static_cast<double>(bytes), seconds});
        text += fmt::format("{}{:.0f} ns at {} MiB", text.empty() ? "" : ", ", seconds * 1e9,
                            bytes / mebibyte);
    }
    const auto size = footprint_of_half(sweep);
    if (!size) {
        return;
    }
    GpuPass pass;
    pass.rate = *size;
    out.push_back(gpu_ceiling("size.l2.half", "byte", pass, with.device,
                              "footprint at which a load of one SM, round after round, passes the "
                              "middle between what it takes in the smallest and the largest: " +
                                  text));
}

// Chips whose L2 is one piece give no rows.
void probe_l2_halves(GpuSetting& with, std::vector<Ceiling>& out) {
    const std::size_t wanted = (with.timer.quick() ? 256 : 1024) * mebibyte;
    const std::size_t bytes = std::min(wanted, cuda::free_bytes() / 2) / mebibyte * mebibyte;
    if (bytes < 64 * mebibyte) {
        return;
    }
    const cuda::DeviceBuffer buffer(bytes);
    cuda::fill(buffer.data(), 0, bytes);
    cuda::synchronize();
    const auto units = find_sides(with, buffer);
    if (!units) {
        return;
    }
    const HomedBlocks homed = find_homes(with, buffer, *units);
    if (!homed.usable()) {
        return;
    }
    probe_link(with, buffer, *units, homed, out);
    probe_far_latency(with, buffer, *units, homed, out);
    probe_half_size(with, out);
}

}  // namespace

void append_gpu_l2_steps(const Device& /*device*/, std::vector<GpuStep>& steps) {
    steps.push_back({"halves of the L2", probe_l2_halves});
}

}  // namespace raceline::probe
