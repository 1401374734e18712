// SPDX-License-Identifier: Apache-2.0
// Answers from a receipt file, so that every command can be tested on any machine.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "device/catalog.hpp"
#include "device/device_state.hpp"
#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "receipt/rows.hpp"
#include "registry/registry.hpp"
#include "run/backend.hpp"
#include "run/run_case.hpp"
#include "support/check.hpp"
#include "workload/plainest.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline {
namespace {

// The machine of the file: what its device row says, and of what that leaves out, or where there is
// none, the datasheet with committed rates. A run leaves the row out where it went by these.
Device device_of_file(const DeviceName& name, const Json& state) {
    Device device = datasheet_device(name.id);
    device.name = name.name;
    device.driver = name.driver;
    apply_committed_rates(device);
    if (state.is_object() && text_member(state, "id") == name.id) {
        Json whole = device_state_to_json(device);
        whole.update(state, true);  // older rows lack members of parts, too
        device = device_state_from_json(whole);
        device.live = false;  // wherever it is, it is not what answers
        for (auto& [rate_id, rate] : device.rates) {
            constexpr std::string_view here = "probe here";
            if (rate.source.starts_with(here)) {
                rate.source = "probe of that machine" + rate.source.substr(here.size());
            }
        }
    }
    return device;
}

class ReplayBackend final : public Backend {
public:
    explicit ReplayBackend(const std::string& path) : path_(path) {
        const ReceiptFile file = read_receipts(path);
        std::string id;
        int threads = 0;
        Json state;
        for (const Json& row : file.rows) {
            if (row.at("kind") == DeviceRow::kind && row.contains("state")) {
                state = row.at("state");
            }
            if (row.at("kind") != MeasurementRow::kind) {
                continue;
            }
            const auto measured = row_from_json<MeasurementRow>(row);
            const RowCase& about = measured.about;
            id = id.empty() ? about.device.id : id;
            require(about.device.id == id, Status::invalid_argument,
                    "{}: rows of devices '{}' and '{}' in one file: replay needs one device", path,
                    id, about.device.id);
            Workload workload = canonical(workload_from_json(about.workload));
            Json named = with_names_of_today(row);
            named["workload"] = workload_to_json(workload);
            rows_[case_key(named)] = measured;
            device_.name = about.device.name;
            device_.driver = about.device.driver;
            threads = about.launch.threads;
            if (std::ranges::find(workloads_, workload) == workloads_.end()) {
                workloads_.push_back(std::move(workload));
            }
        }
        require(!rows_.empty(), Status::no_device, "{}: holds no measurement to replay", path);
        device_ = device_of_file({id, device_.name, device_.driver}, state);
        // The machine of the receipt, not the datasheet's: its cases name the threads that ran.
        device_.units = threads > 0 ? threads : device_.units;
    }
    [[nodiscard]] std::string_view name() const override { return "replay"; }
    [[nodiscard]] const Device& device() const override { return device_; }

    [[nodiscard]] std::vector<Workload> workloads() const override { return workloads_; }
    [[nodiscard]] std::size_t case_count() const override { return rows_.size(); }
    [[nodiscard]] bool holds(const Kernel& kernel, int tile, const Workload& workload,
                             const CaseOptions& options) const override {
        return find(kernel, tile, workload, options) != nullptr;
    }

    Correctness check(const Kernel& kernel, int tile, const Workload& workload,
                      const CaseOptions& options) override {
        const MeasurementRow* row = find(kernel, tile, workload, options);
        if (row == nullptr) {
            Correctness verdict;
            verdict.why = fmt::format("{} holds no measurement of this case", path_);
            return verdict;
        }
        return row->correctness;
    }

    Timed measure(const Kernel& kernel, int tile, const Workload& workload,
                  const CaseOptions& options) override {
        const MeasurementRow* row = find(kernel, tile, workload, options);
        if (row == nullptr || !row->measurement) {
            fail(Status::no_device, "{} holds no measurement of this case", path_);
        }
        return {*row->measurement, row->correctness};
    }

private:
    [[nodiscard]] const MeasurementRow* find(const Kernel& kernel, int tile,
                                             const Workload& workload,
                                             const CaseOptions& options) const {
        const Case which{
            .suite = {}, .kernel = &kernel, .tile = tile, .workload = workload, .options = options};
        const auto found = rows_.find(case_key(row_to_json(row_case(which, device_))));
        return found == rows_.end() ? nullptr : &found->second;
    }

    std::string path_;
    std::map<std::string, MeasurementRow> rows_;  ///< by case_key
    std::vector<Workload> workloads_;             ///< each once, in the file's order
    Device device_;
};

}  // namespace

std::unique_ptr<Backend> make_replay_backend(const std::string& receipt_path) {
    return std::make_unique<ReplayBackend>(receipt_path);
}

}  // namespace raceline
