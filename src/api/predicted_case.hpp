// SPDX-License-Identifier: Apache-2.0
// A prediction with all that it is about, behind both the C++ and the C interface.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "api/call.hpp"
#include "raceline/point.hpp"
#include "run/run_case.hpp"

namespace raceline::api {

struct PredictedCase {
    Case which;
    Device device;
    ExplainedPrediction explained;
};

/// Lengths that a prediction knows and a call does not look at when it chooses; empty: the
/// workload's.
struct KnownLengths {
    std::vector<std::int64_t> q;      ///< new tokens of each sequence
    std::span<const std::int32_t> k;  ///< used lengths of a cache
};

/// The kernel and tile that the API would choose on that device (or the named kernel, ladder rungs
/// too, with its best tile), predicted with the best rates known. `device` as in raceline.hpp.
/// `launch_path` "": that of a call; it changes the time, never the choice. Nor do `lengths`.
PredictedCase predict_workload(const Workload& workload, const std::string& device,
                               const std::string& kernel, int threads,
                               const std::string& launch_path = {},
                               const KnownLengths& lengths = {});
PredictedCase predict_forward_case(const ForwardArgs& args, const std::string& device);
/// `lengths`: from host copies of args.seqlens_k and args.cu_seqlens_q, which are not read here.
PredictedCase predict_decode_case(const DecodeArgs& args, const std::string& device,
                                  const KnownLengths& lengths = {});
PredictedCase predict_shape_case(const std::string& shape, const std::string& device,
                                 const std::string& kernel);

/// The device that predict_workload predicts for, with the rates that it uses.
Device device_of_prediction(const std::string& device, int threads);

/// A problem without a kernel, launched as a call would, and its bound as a row's content.
BoundRow bound_of_shape(const std::string& shape, const std::string& device);
std::string bound_text(const std::string& shape, const std::string& device);

/// judge_point as JSON (run/point_json.hpp).
std::string point_text(const WorkPoint& point, const std::string& device);

/// The content of a `prediction` row: what it is about, and `prediction`.
Json predicted_case_to_json(const PredictedCase& predicted);

}  // namespace raceline::api
