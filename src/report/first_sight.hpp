// SPDX-License-Identifier: Apache-2.0
// Whether a prediction was made before anything was known of its case (docs/receipts.md, "First
// sight"). Asked of all receipts and the index, whichever files a report is given.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "receipt/past_measurement.hpp"
#include "receipt/runs.hpp"
#include "support/build_info.hpp"
#include "support/json.hpp"

namespace raceline {

/// Of a measured row, by what was measured before it on the same device. The first two are first
/// sight.
enum class Sight : std::int32_t {
    new_kernel,  ///< nothing of this kernel before the program run that the row is of
    new_case,    ///< the kernel, but not this case
    seen         ///< this case, with whatever tile
};
std::string_view sight_name(
    Sight sight);  ///< "kernel never measured", "case never measured", "seen"

/// What a row is about without what says nothing: {workload, case, op, pass} with all members that
/// have their defaults left out, numbers in one spelling, and the workload without what changes
/// nothing about it (workload/plainest.hpp). Kernel, tile, suite and driver are not in it, nor is
/// how a case was run: cold or warm, launch path, regime, threads. A member that is null, false,
/// zero or empty is taken to say the same as its absence, unless the source names another default.
nlohmann::json normalised_case(const Json& workload, const Json& launch, std::string_view op,
                               std::string_view pass);

/// The device as far as it matters: its id, and its name where "cpu" or "cuda" stands for many,
/// however many spaces stand between its words.
std::string sight_device(const Json& device);
/// The same for people: "h200", "cpu (AMD EPYC)".
std::string device_label(const Json& device);

/// What a measurement makes known: the first 16 hex digits of SHA-256 over device and kernel's
/// name, and over these and the normalised case.
struct SightKeys {
    std::string kernel, of_case;
};
SightKeys sight_keys(const PastMeasurement& measured, std::string_view kernel_name);

/// When each key was first measured (RFC 3339, UTC), by key.
using FirstDates = std::map<std::string, std::string>;
void add_first_dates(FirstDates& dates, std::span<const PastMeasurement> measured);

/// A measurement row, or one of a comparison, as far as its class needs it. Throws a
/// Json::exception where a member is missing.
PastMeasurement measured_by(const Json& row);

class FirstSights {
public:
    /// All names that a kernel has had, whichever of them is given.
    using Names = std::function<std::vector<std::string>(std::string_view kernel)>;

    /// `committed`: what the receipts that were there at build time measured.
    FirstSights(std::span<const build_info::EmbeddedSight> committed, Names names);

    /// Measurements beside the committed ones, or some of these once more.
    void add(std::span<const PastMeasurement> measured);

    /// The class of a row: judged by what was written before it, so never by itself. `run_began`:
    /// before this the kernel must have been measured to be known, since a run cannot learn from
    /// its own rows.
    [[nodiscard]] Sight of(const PastMeasurement& row, std::string_view run_began) const;

private:
    [[nodiscard]] bool before(const std::string& key, std::string_view when) const;
    std::span<const build_info::EmbeddedSight> committed_;
    Names names_;
    FirstDates added_;
};

}  // namespace raceline
