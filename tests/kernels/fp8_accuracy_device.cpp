// SPDX-License-Identifier: Apache-2.0
// Relative RMS errors of prefill_sm90_fp8 on a live Hopper GPU, tile by tile, against float64: on
// values of which sums without promotion lose bits, and on some of which they do not. A program of
// its own, run by tools/device_fp8_accuracy.sh; ctest has no entry for it.
//
//   device_fp8_accuracy [headdim ...]
//
// Fails if a tile that serves accurate calls has more than 1.3 times the error of the tile of its
// head dim that promotes most often.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "device/catalog.hpp"
#include "registry/registry.hpp"
#include "tests/kernels/value_kinds.hpp"
#include "timing/cuda_runtime.hpp"
#include "workload/inputs.hpp"
#include "workload/oracle.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

constexpr double most_times = 1.3;
std::int64_t field_of(const Kernel& kernel, int tile, std::string_view name) {
    for (const auto& [field, value] : kernel.tile(tile)) {
        if (field == name) {
            return value;
        }
    }
    return -1;
}

// Rows that are compared: evenly spread over each sequence and head, its last one among them.
struct Compared {
    std::int64_t sequence;
    QueryRow at;
};
std::vector<Compared> rows_of(const Workload& w, std::int64_t each) {
    std::vector<Compared> rows;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        for (std::int64_t head = 0; head < w.heads_q; ++head) {
            for (std::int64_t i = 1; i <= each; ++i) {
                rows.push_back({b, {w.length_q(b) * i / each - 1, head}});
            }
        }
    }
    return rows;
}
std::vector<OracleRow> answers_of(const Workload& w, const Inputs& in,
                                  const std::vector<Compared>& rows) {
    constexpr std::ptrdiff_t at_a_time = 4;
    std::vector<OracleRow> found(rows.size());
    const std::ptrdiff_t tasks = (std::ssize(rows) + at_a_time - 1) / at_a_time;
#pragma omp parallel for schedule(dynamic)
    for (std::ptrdiff_t task = 0; task < tasks; ++task) {
        const auto first = static_cast<std::size_t>(task * at_a_time);
        const std::size_t last = std::min(first + at_a_time, rows.size());
        for (std::size_t i = first; i < last;) {
            std::vector<QueryRow> some;
            std::size_t end = i;
            while (end < last && rows[end].sequence == rows[i].sequence &&
                   rows[end].at.head == rows[i].at.head) {
                some.push_back(rows[end++].at);
            }
            auto part = oracle_rows(w, in, rows[i].sequence, some);
            std::move(part.begin(), part.end(), found.begin() + static_cast<std::ptrdiff_t>(i));
            i = end;
        }
    }
    return found;
}

template <class T>
cuda::DeviceBuffer uploaded(const std::vector<T>& host) {
    cuda::DeviceBuffer buffer(host.size() * sizeof(T) + 1);
    if (!host.empty()) {
        cuda::upload(buffer.data(), host.data(), host.size() * sizeof(T));
    }
    return buffer;
}

// One set of inputs on the device, and the answer.
class Case {
public:
    Case(const Workload& w, const test::Drawn& drawn, int kind)
        : workload_(w),
          in_(test::inputs_of(w, drawn, kind)),
          rows_(rows_of(w, w.batch > 1 ? 12 : 32)),
          answer_(answers_of(w, in_, rows_)),
          q_(uploaded(in_.q)),
          k_(uploaded(in_.k)),
          v_(uploaded(in_.v)),
          sums_q_(uploaded(in_.cu_seqlens_q)),
          sums_k_(uploaded(in_.cu_seqlens_k)),
          out_(2 * in_.out_elements) {}

    // ‖out − answer‖ / ‖answer‖ over the compared rows.
    [[nodiscard]] double error(const Kernel& kernel, int tile, const Device& device) const {
        InputPointers at;
        at.q = q_.data();
        at.k = k_.data();
        at.v = v_.data();
        at.out = out_.data();
        if (workload_.ragged()) {
            at.cu_seqlens_q = reinterpret_cast<const std::int32_t*>(sums_q_.data());
            at.cu_seqlens_k = reinterpret_cast<const std::int32_t*>(sums_k_.data());
        }
        const AttentionArgs args = make_args(workload_, in_, at);
        const cuda::DeviceBuffer scratch(kernel.workspace(workload_, tile, device) + 1);
        cuda::fill(scratch.data(), 0xff, scratch.bytes());
        cuda::fill(out_.data(), 0xff, out_.bytes());
        kernel.launch(args, tile, device, scratch.data(), nullptr);
        cuda::synchronize();
        std::vector<std::byte> out(out_.bytes());
        cuda::download(out.data(), out_.data(), out.size());
        double wrong = 0;
        double all = 0;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            std::int64_t token = rows_[i].at.row;
            for (std::int64_t b = 0; b < rows_[i].sequence; ++b) {
                token += workload_.length_q(b);
            }
            const auto first = static_cast<std::size_t>(
                (token * workload_.heads_q + rows_[i].at.head) * workload_.headdim_v);
            for (std::size_t c = 0; c < answer_[i].out.size(); ++c) {
                const double got = load_element(out.data(), DType::bf16, first + c);
                wrong += (got - answer_[i].out[c]) * (got - answer_[i].out[c]);
                all += answer_[i].out[c] * answer_[i].out[c];
            }
        }
        return std::sqrt(wrong / all);
    }

private:
    Workload workload_;
    Inputs in_;
    std::vector<Compared> rows_;
    std::vector<OracleRow> answer_;
    cuda::DeviceBuffer q_, k_, v_, sums_q_, sums_k_, out_;
};

struct Tiles {
    int most_promoted = -1;
    std::vector<int> all;
};
Tiles tiles_of(const Kernel& kernel, const Workload& w, const Device& device) {
    Tiles tiles;
    Workload fast = w;
    fast.accuracy = Accuracy::fast;
    for (int tile = 0; tile < kernel.tile_count(); ++tile) {
        if (!kernel.why_not(fast, tile, device).empty()) {
            continue;
        }
        tiles.all.push_back(tile);
        const int best = tiles.most_promoted;
        if (field_of(kernel, tile, "promote") != 0 &&
            (best < 0 || field_of(kernel, tile, "keys") < field_of(kernel, best, "keys"))) {
            tiles.most_promoted = tile;
        }
    }
    return tiles;
}

int run(const std::vector<int>& headdims) {
    const Kernel& kernel = find_kernel("prefill_sm90_fp8");
    const Device device = datasheet_device("h200");
    std::map<int, double> worst;
    for (const int d : headdims) {
        for (const int keys : {4096, 16384, 131072}) {
            const std::string dims = ",h=2/1,d=" + std::to_string(d) + ",dtype=e4m3";
            const std::string k = std::to_string(keys);
            const std::string causal_q = std::to_string(std::min(keys, 2048));
            const std::string lengths =
                k + ";" + std::to_string(keys / 2 + 37) + ";" + std::to_string(keys - 1001);
            for (const std::string& shape :
                 {"q=192,k=" + k + dims, "q=" + causal_q + ",k=" + k + dims + ",causal",
                  "q=70;130;64,k=" + lengths + dims}) {
                const Workload w = parse_shape(shape);
                const Tiles tiles = tiles_of(kernel, w, device);
                const test::Drawn drawn(w);
                for (int kind = 0; kind < test::value_kinds; ++kind) {
                    const Case one(w, drawn, kind);
                    const double base = one.error(kernel, tiles.most_promoted, device);
                    std::printf("%s: %s, promoted every %d keys %.5f\n", shape.c_str(),
                                test::name_of_kind(kind),
                                static_cast<int>(field_of(kernel, tiles.most_promoted, "keys")),
                                base);
                    for (const int tile : tiles.all) {
                        const double times = one.error(kernel, tile, device) / base;
                        worst[tile] = std::max(worst[tile], times);
                        std::printf("  %-75s %.3f times\n", kernel.tile_text(tile).c_str(), times);
                    }
                    std::fflush(stdout);
                }
            }
        }
    }
    int refused = 0;
    std::printf("the largest ratio of each tile\n");
    for (const auto& [tile, times] : worst) {
        const bool accurate =
            field_of(kernel, tile, "promote") != 0 && field_of(kernel, tile, "keys") <= 128;
        const bool wrong = accurate && !(times <= most_times);
        refused += wrong ? 1 : 0;
        std::printf("  %-75s %.3f%s%s\n", kernel.tile_text(tile).c_str(), times,
                    accurate ? "" : " (accuracy=fast)", wrong ? " OVER 1.3" : "");
    }
    return refused == 0 ? 0 : 1;
}

}  // namespace
}  // namespace raceline

int main(int argc, char** argv) {
    if (const std::string why = raceline::cuda::why_unavailable(); !why.empty()) {
        std::fprintf(stderr, "no device: %s\n", why.c_str());
        return 2;
    }
    std::vector<int> headdims;
    for (int i = 1; i < argc; ++i) {
        headdims.push_back(std::atoi(argv[i]));
    }
    return raceline::run(headdims.empty() ? std::vector<int>{64, 128, 256} : headdims);
}
