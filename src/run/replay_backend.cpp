// SPDX-License-Identifier: Apache-2.0
// Answers from a receipt file, so that every command can be tested on any machine.
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "device/catalog.hpp"
#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "receipt/rows.hpp"
#include "registry/registry.hpp"
#include "run/backend.hpp"
#include "run/run_case.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

class ReplayBackend final : public Backend {
public:
    explicit ReplayBackend(const std::string& path) : path_(path) {
        const ReceiptFile file = read_receipts(path);
        std::string id;
        int threads = 0;
        for (const Json& row : file.rows) {
            if (row.at("kind") != MeasurementRow::kind) {
                continue;
            }
            const auto measured = row_from_json<MeasurementRow>(row);
            const RowCase& about = measured.about;
            id = id.empty() ? about.device.id : id;
            require(about.device.id == id, Status::invalid_argument,
                    "{}: rows of devices '{}' and '{}' in one file: replay needs one device", path,
                    id, about.device.id);
            rows_[case_key(with_names_of_today(row))] = measured;
            device_.name = about.device.name;
            device_.driver = about.device.driver;
            threads = about.launch.threads;
        }
        require(!rows_.empty(), Status::no_device, "{}: holds no measurement to replay", path);
        const std::string name = device_.name;
        const std::string driver = device_.driver;
        device_ = datasheet_device(id);
        device_.name = name;
        device_.driver = driver;
        // The machine of the receipt, not the datasheet's: its cases name the threads that ran.
        device_.units = threads > 0 ? threads : device_.units;
    }
    [[nodiscard]] std::string_view name() const override { return "replay"; }
    [[nodiscard]] const Device& device() const override { return device_; }

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
        require(row != nullptr && row->measurement, Status::no_device,
                "{} holds no measurement of this case", path_);
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
    Device device_;
};

}  // namespace

std::unique_ptr<Backend> make_replay_backend(const std::string& receipt_path) {
    return std::make_unique<ReplayBackend>(receipt_path);
}

}  // namespace raceline
