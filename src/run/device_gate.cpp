// SPDX-License-Identifier: Apache-2.0
#include "run/device_gate.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "run/device_memory.hpp"
#include "run/poison.hpp"
#include "run/row_errors.hpp"
#include "support/check.hpp"
#include "workload/cache_reader.hpp"
#include "workload/draw.hpp"

namespace raceline {
namespace {

using device_gate::Found;
using device_gate::KeySpan;
using device_gate::RowTile;

constexpr std::int64_t host_rows = 16;  // of the float64 answer, compared with the host's
// Both are float64 with sums in another order.
constexpr double answers_differ = 1e-9;

template <class Length>
std::vector<std::int64_t> starts(std::int64_t batch, const Length& length) {
    std::vector<std::int64_t> sums{0};
    for (std::int64_t b = 0; b < batch; ++b) {
        sums.push_back(sums.back() + length(b));
    }
    return sums;
}

float as_float(std::uint64_t kept) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(kept >> 32U));
}

Errors errors_in(const Found& found) {
    return {.squares = found.squares,
            .worst = static_cast<double>(as_float(found.worst)),
            .lse = static_cast<double>(as_float(found.lse)),
            .aligned = static_cast<double>(as_float(found.aligned)),
            .joint = static_cast<double>(as_float(found.joint))};
}

/// Of tokens, in the order of Operands: a sequence, a KV head, its tokens.
std::vector<float> scales_of_keys(const Workload& w, const Inputs& inputs, bool keys) {
    std::vector<float> all;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        for (std::int64_t head = 0; head < w.heads_kv; ++head) {
            const CacheReader cache(w, inputs, b, head);
            const std::vector<float> own =
                keys ? cache.key_scales(0, w.length_k(b)) : cache.value_scales(0, w.length_k(b));
            all.insert(all.end(), own.begin(), own.end());
        }
    }
    return all;
}

}  // namespace

DeviceDraw::DeviceDraw(const Workload& workload, std::uint64_t seed, Draw draw)
    : workload_(workload),
      seed_(seed),
      draw_(draw),
      inputs_(workload, seed, draw),
      rows_(workload.tokens_q() * workload.heads_q) {
    upload_tables();
}

void DeviceDraw::upload_tables() {
    const Workload& w = workload_;
    std::vector<RowTile> tiles;
    std::vector<SeenKeys> row_keys;
    for (std::int64_t b = 0; b < w.batch; ++b) {
        const auto first = static_cast<std::ptrdiff_t>(row_keys.size());
        for (std::int64_t i = 0; i < w.length_q(b); ++i) {
            row_keys.push_back(seen_keys_of(w, inputs_.structure(), b, i));
            scattering_ += row_keys.back().last - row_keys.back().first > 1 ? w.heads_q : 0;
        }
        const std::int64_t rows = w.length_q(b) * w.group();
        for (std::int64_t head = 0; head < w.heads_kv; ++head) {
            for (std::int64_t row = 0; row < rows; row += device_gate::tile_rows) {
                const std::int64_t count =
                    std::min<std::int64_t>(device_gate::tile_rows, rows - row);
                KeySpan keys{std::numeric_limits<std::int64_t>::max(), 0};
                for (std::int64_t i = row / w.group(); i <= (row + count - 1) / w.group(); ++i) {
                    const SeenKeys& seen = row_keys[static_cast<std::size_t>(first + i)];
                    if (seen.first < seen.last) {
                        keys = {std::min(keys.first, seen.first), std::max(keys.last, seen.last)};
                    }
                }
                keys.first = std::min(keys.first, keys.last);
                tiles.push_back({row, static_cast<std::int32_t>(count),
                                 static_cast<std::int32_t>(b), static_cast<std::int32_t>(head),
                                 keys});
            }
        }
    }
    std::vector<device_gate::BadValue> bad;
    if (draw_ == Draw::non_finite) {
        for (const NonFinite& one : non_finite_places(w, seed_)) {
            if (one.in_value(w)) {
                bad.push_back({static_cast<std::int32_t>(one.sequence),
                               static_cast<std::int32_t>(one.head), one.token});
            }
        }
    }
    bad_values_ = static_cast<int>(bad.size());
    tables_.bad_values = on_device(bad);
    tables_.tiles = on_device(tiles);
    tables_.row_keys = on_device(row_keys);
    tables_.start_q = on_device(starts(w.batch, [&](auto b) { return w.length_q(b); }));
    tables_.start_k = on_device(starts(w.batch, [&](auto b) { return w.length_k(b); }));
    if (w.has_token_scales()) {
        tables_.key_scales = on_device(scales_of_keys(w, inputs_.structure(), true));
        tables_.value_scales = on_device(scales_of_keys(w, inputs_.structure(), false));
    }
    const AttentionCall args = inputs_.arena().args(0);
    problem_ = {.q = args.q.data,
                .k = args.k.data,
                .v = w.mla ? args.k.data : args.v.data,
                .dtype = w.dtype,
                .kv_dtype = w.kv_dtype,
                .tiles = address<RowTile>(tables_.tiles),
                .start_q = address<std::int64_t>(tables_.start_q),
                .start_k = address<std::int64_t>(tables_.start_k),
                .slots = inputs_.slots(),
                .row_keys = address<SeenKeys>(tables_.row_keys),
                .q_scale = args.q_scale,
                .k_scale = args.k_scale,
                .v_scale = args.v_scale,
                .key_scales = address<float>(tables_.key_scales),
                .value_scales = address<float>(tables_.value_scales),
                .sinks = args.sinks,
                .batch = static_cast<std::int32_t>(w.batch),
                .tile_count = static_cast<std::int32_t>(tiles.size()),
                .heads_q = static_cast<std::int32_t>(w.heads_q),
                .heads_kv = static_cast<std::int32_t>(w.heads_kv),
                .headdim = static_cast<std::int32_t>(w.headdim),
                .headdim_v = static_cast<std::int32_t>(w.headdim_v),
                .pitch_v = static_cast<std::int32_t>(w.mla ? w.headdim : w.headdim_v),
                .scale = w.scale_value(),
                .softcap = w.softcap,
                .tokens_q = w.tokens_q(),
                .tokens_k = w.tokens_k(),
                .operands = {}};
}

DeviceDraw::Gathered DeviceDraw::gather(Rounding products, std::int64_t first_channel) const {
    const Workload& w = workload_;
    const auto array = [](std::int64_t rows, std::int64_t width) {
        return cuda::DeviceBuffer(static_cast<std::size_t>(rows * width) * sizeof(float));
    };
    const std::int64_t keys = w.tokens_k() * w.heads_kv;
    Gathered gathered{array(rows_, device_gate::padded(w.headdim)),
                      array(keys, device_gate::padded(w.headdim)),
                      array(keys, device_gate::padded(w.headdim_v)), array(keys, 1)};
    device_gate::gather(problem_, addresses(gathered), products, first_channel);
    return gathered;
}

device_gate::Operands DeviceDraw::addresses(const Gathered& gathered) {
    return {.q = address<float>(gathered.q),
            .k = address<float>(gathered.k),
            .v = address<float>(gathered.v),
            .mean_squares = address<float>(gathered.mean_squares)};
}

/// Whether products of this type change what is stored.
bool DeviceDraw::rounds_operands(Rounding products) const {
    return !holds(products, workload_.dtype) || !holds(products, workload_.kv_dtype);
}

void DeviceDraw::answer() {
    if (exact_) {
        return;
    }
    operands_ = gather(Rounding::fp64, 0);
    problem_.operands = addresses(operands_);
    const auto rows = static_cast<std::size_t>(rows_);
    const auto array = [&] { return cuda::DeviceBuffer(rows * sizeof(double)); };
    exact_.emplace(Exact{
        cuda::DeviceBuffer(rows * static_cast<std::size_t>(workload_.headdim_v) * sizeof(double)),
        array(), array(), array(), array()});
    answers_ = {.out = exact_->out.data(),
                .lse = address<double>(exact_->lse),
                .spread = address<double>(exact_->spread),
                .largest = address<double>(exact_->largest),
                .sum = address<double>(exact_->sum)};
    device_gate::answer_exactly(problem_, answers_);
    cuda::synchronize();
    // What differs from draw to draw are numbers, not the way to the answer: two draws are enough.
    if (draw_ == Draw::plain || draw_ == Draw::non_finite) {
        compare_with_host();
    }
}

void DeviceDraw::compare_with_host() {
    const Inputs inputs = inputs_.with_data();
    GateAnswers host(workload_, inputs, draw_, sample_rows(workload_, seed_, host_rows));
    host.exact();
    for (std::size_t i = 0; i < host.rows().size(); ++i) {
        compare_row_with_host(host, i);
    }
}

void DeviceDraw::compare_row_with_host(GateAnswers& host, std::size_t i) const {
    const Row& at = host.rows()[i];
    const OracleRow& expected = host.exact()[i];
    if (draw_ == Draw::non_finite && (!expected.judged || masks_non_finite(host, at))) {
        return;
    }
    std::int64_t token = at.row;
    for (std::int64_t b = 0; b < at.sequence; ++b) {
        token += workload_.length_q(b);
    }
    const std::int64_t row = token * workload_.heads_q + at.head;
    std::vector<double> out(expected.out.size());
    double lse = 0;
    cuda::download(out.data(), static_cast<const double*>(answers_.out) + row * std::ssize(out),
                   out.size() * sizeof(double));
    cuda::download(&lse, answers_.lse + row, sizeof(lse));
    double size = 0;
    for (const double x : expected.out) {
        size = std::max(size, std::isfinite(x) ? std::abs(x) : 0);
    }
    const auto same = [&](double a, double b, double scale) {
        return a == b || (!std::isfinite(a) && !std::isfinite(b)) ||
               std::abs(a - b) <= answers_differ * scale;
    };
    require(same(lse, expected.lse, std::max(1.0, std::abs(expected.lse))), Status::internal,
            "the GPU's float64 LSE of {} is {}, but {} on the host: no verdict is possible",
            place_of(at), lse, expected.lse);
    for (std::size_t c = 0; c < out.size(); ++c) {
        require(same(out[c], expected.out[c], std::max(size, expected.spread)), Status::internal,
                "the GPU's float64 answer for element {} of {} is {}, but {} on the host: no "
                "verdict is possible",
                c, place_of(at), out[c], expected.out[c]);
    }
}

device_gate::Found DeviceDraw::run_comparison(const device_gate::Outputs& outputs) const {
    const cuda::DeviceBuffer found(sizeof(Found));
    cuda::upload(found.data(), &device_gate::nothing_found, sizeof(Found));
    if (draw_ == Draw::non_finite) {
        device_gate::compare_finite(problem_, answers_, outputs,
                                    address<device_gate::BadValue>(tables_.bad_values), bad_values_,
                                    rows_, address<Found>(found));
    } else {
        const std::int64_t width = device_gate::padded(workload_.headdim_v);
        const cuda::DeviceBuffer errors(static_cast<std::size_t>(rows_ * width) * sizeof(float));
        device_gate::compare(problem_, answers_, outputs, address<float>(errors), rows_,
                             address<Found>(found));
        cuda::synchronize();
    }
    Found result{};
    cuda::download(&result, found.data(), sizeof(result));
    return result;
}

Errors DeviceDraw::errors_of_rounding(const device_gate::Steps& steps, std::int64_t first_channel) {
    device_gate::DrawnCall rounded = problem_;
    Gathered own;
    if (first_channel != 0 || rounds_operands(steps.precision.products)) {
        own = gather(steps.precision.products, first_channel);
        rounded.operands = addresses(own);
    }
    const auto rows = static_cast<std::size_t>(rows_);
    const cuda::DeviceBuffer out(rows * static_cast<std::size_t>(workload_.headdim_v) *
                                 sizeof(float));
    const cuda::DeviceBuffer lse(rows * sizeof(double));
    const cuda::DeviceBuffer largest(rows * sizeof(double));
    device_gate::answer_rounded(rounded, steps,
                                {.out = out.data(),
                                 .lse = address<double>(lse),
                                 .spread = nullptr,
                                 .largest = address<double>(largest),
                                 .sum = nullptr});
    return errors_in(run_comparison({.out = out.data(),
                                     .dtype = DType::fp32,
                                     .lse = nullptr,
                                     .lse_rounded = address<double>(lse)}));
}

const Reference& DeviceDraw::reference(const Precision& precision) {
    const auto known = std::find_if(rounded_.begin(), rounded_.end(),
                                    [&](const Rounded& one) { return one.precision == precision; });
    if (known != rounded_.end()) {
        return known->reference;
    }
    const std::int64_t count = roundings_for(workload_, scattering_);
    std::vector<Errors> roundings;
    for (std::int64_t n = 0; n < count; ++n) {
        const Variant variant{n, count};
        const device_gate::Steps steps{
            .precision = precision,
            .first_key = static_cast<double>(n) / static_cast<double>(count),
            .probability_scale = variant.probability_scale(precision)};
        roundings.push_back(errors_of_rounding(steps, variant.start(workload_.headdim)));
    }
    const auto elements = static_cast<double>(rows_ * workload_.headdim_v);
    return rounded_
        .emplace_back(Rounded{precision, reference_of(roundings, elements, scattering_ > 0)})
        .reference;
}

std::string DeviceDraw::bad_output(const Found& found, const CudaArena& arena, int index) const {
    const auto place = [&](std::uint64_t row) {
        return place_of(row_at(workload_, static_cast<std::int64_t>(row)));
    };
    const auto width = static_cast<std::uint64_t>(workload_.headdim_v);
    const bool set = draw_ == Draw::non_finite;
    if (found.bad_element != device_gate::none) {
        const DType dtype = workload_.out_dtype();
        const auto bytes = static_cast<std::size_t>(bytes_of(dtype));
        std::array<std::byte, 4> element{};
        cuda::download(
            element.data(),
            static_cast<const std::byte*>(arena.out_address(index)) + found.bad_element * bytes,
            bytes);
        double expected = 0;
        cuda::download(&expected, static_cast<const double*>(answers_.out) + found.bad_element,
                       sizeof(expected));
        const double got = load_element(element.data(), dtype, 0);
        return fmt::format("element {} of {} {}", found.bad_element % width,
                           place(found.bad_element / width),
                           set ? fmt::format("is {}, but {} in float64", got, expected)
                           : std::isnan(got) ? "was never written, or is NaN"
                                             : "is infinite");
    }
    if (found.bad_lse != device_gate::none) {
        float got = 0;
        double expected = 0;
        cuda::download(&got, arena.lse_address(index) + found.bad_lse, sizeof(got));
        cuda::download(&expected, answers_.lse + found.bad_lse, sizeof(expected));
        return fmt::format("LSE of {} is {}, not {}", place(found.bad_lse), got, expected);
    }
    return {};
}

Correctness DeviceDraw::judge_on_host(const Precision& precision, const CudaArena& arena,
                                      int index) {
    const Inputs inputs = inputs_.with_data();
    GateAnswers answers(workload_, inputs, seed_, draw_);
    return raceline::judge(answers, precision, arena.out(index), arena.lse(index));
}

Correctness DeviceDraw::judge(const Precision& precision, const CudaArena& arena, int index) {
    if (workload_.kv_dtype == DType::nvfp4 || !device_gate::serves(precision)) {
        return judge_on_host(precision, arena, index);
    }
    answer();
    const Found found = run_comparison({.out = arena.out_address(index),
                                        .dtype = workload_.out_dtype(),
                                        .lse = arena.lse_address(index),
                                        .lse_rounded = nullptr});
    Comparison comparison{.kernel = errors_in(found),
                          .largest = static_cast<double>(as_float(found.largest)),
                          .lse_worst = std::bit_cast<double>(found.lse_error),
                          .elements = rows_ * workload_.headdim_v,
                          .rows = rows_,
                          .width = workload_.headdim_v,
                          .why = bad_output(found, arena, index)};
    if (draw_ == Draw::non_finite) {
        comparison.kernel = {};
        Correctness verdict = decide(comparison, {}, precision, false);
        verdict.bound = verdict.bound_worst = verdict.bound_aligned = 0;
        return verdict;
    }
    return decide(comparison, reference(precision), precision, true);
}

}  // namespace raceline
