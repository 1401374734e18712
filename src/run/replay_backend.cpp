// SPDX-License-Identifier: Apache-2.0
// Answers from a receipt file, so that every command can be tested on any machine.
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "device/catalog.hpp"
#include "receipt/file.hpp"
#include "receipt/row.hpp"
#include "run/backend.hpp"
#include "run/run_case.hpp"
#include "support/check.hpp"

namespace raceline {
namespace {

// What two rows must share to be about the same case.
std::string key_of(const Json& row) {
    return row.at("kernel").get<std::string>() + row.at("tile").dump() + row.at("workload").dump() +
           row.at("case").dump();
}

class ReplayBackend final : public Backend {
public:
    explicit ReplayBackend(const std::string& path) : path_(path) {
        const ReceiptFile file = read_receipts(path);
        std::string id;
        int threads = 0;
        for (const Json& row : file.rows) {
            if (row.at("kind") != "measurement") {
                continue;
            }
            id = id.empty() ? row.at("device").at("id").get<std::string>() : id;
            require(row.at("device").at("id") == id, Status::invalid_argument,
                    "{}: rows of devices '{}' and '{}' in one file: replay needs one device", path,
                    id, row.at("device").at("id").get<std::string>());
            rows_[key_of(row)] = row;
            device_.name = row.at("device").at("name").get<std::string>();
            device_.driver = row.at("device").at("driver").get<std::string>();
            threads = row.at("case").at("threads").get<int>();
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
        Correctness verdict;
        const Json* row = find(kernel, tile, workload, options);
        if (row == nullptr) {
            verdict.why = fmt::format("{} holds no measurement of this case", path_);
            return verdict;
        }
        const Json& seen = row->at("correctness");
        verdict.passed = seen.at("passed").get<bool>();
        verdict.relative_rms = number_or_nan(seen, "relative_rms");
        verdict.worst = number_or_nan(seen, "worst");
        verdict.bound = number_or_nan(seen, "bound");
        verdict.cases = seen.at("cases").get<std::int64_t>();
        verdict.why = seen.value("why", "");
        return verdict;
    }

    Timed measure(const Kernel& kernel, int tile, const Workload& workload,
                  const CaseOptions& options) override {
        const Json* row = find(kernel, tile, workload, options);
        require(row != nullptr && row->at("measurement").is_object(), Status::no_device,
                "{} holds no measurement of this case", path_);
        return {measurement_from_json(row->at("measurement")),
                check(kernel, tile, workload, options)};
    }

private:
    const Json* find(const Kernel& kernel, int tile, const Workload& workload,
                     const CaseOptions& options) const {
        const Case which{
            .suite = {}, .kernel = &kernel, .tile = tile, .workload = workload, .options = options};
        const auto found = rows_.find(key_of(case_to_json(which, device_)));
        return found == rows_.end() ? nullptr : &found->second;
    }

    std::string path_;
    std::map<std::string, Json> rows_;
    Device device_;
};

}  // namespace

std::unique_ptr<Backend> make_replay_backend(const std::string& receipt_path) {
    return std::make_unique<ReplayBackend>(receipt_path);
}

}  // namespace raceline
