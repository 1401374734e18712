// SPDX-License-Identifier: Apache-2.0
// Contents of valid rows, one for each kind, and a folder that is gone after the test.
#pragma once

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "receipt/file.hpp"
#include "receipt/row.hpp"

namespace raceline::example {

inline Json with_case(const Json& content) {
    Json row = Json::parse(R"({"suite":"quickstart",
        "device":{"id":"cpu","name":"Some CPU","driver":""},
        "kernel":"cpu_flash","tile":{"m":64,"n":128},
        "workload":{"batch":1,"heads_q":8,"heads_kv":2,"seqlen_q":128,"seqlen_k":512,"headdim":64,
            "headdim_v":64,"dtype":"bf16","kv_dtype":"bf16","mask":"causal","window":[127,0],
            "softcap":0.0,"sinks":false,"page_size":0},"op":"attention","pass":"forward",
        "case":{"cold":true,"launch_path":"parallel","threads":2,"regime":"sustained"}})");
    row.update(content);
    return row;
}

inline Json measured() {
    return Json::parse(R"({"seconds_median":1e-4,"seconds_low":9.8e-5,"seconds_high":1.02e-4,
        "seconds_call":1e-4,"samples":21,"disturbed":0,"unsettled":false,"disturbance":"",
        "sm_clock_hz":2.5e9,"power_w":0.0,"settled":true,"throttled":false})");
}

inline Json verdict(bool passed) {
    return Json{{"passed", passed},      {"relative_rms", 1e-3}, {"worst", 2e-3},
                {"bound", 4e-3},         {"bound_worst", 8e-3},  {"aligned", 1e-3},
                {"bound_aligned", 2e-3}, {"lse_worst", 0.0},     {"cases", 99}};
}

inline Json prediction() {
    return with_case(Json::parse(R"({"prediction":{"seconds":1.5e-4,"limiter":"byte.dram_read",
        "layer1":{"byte.dram_read":1e-4,"flop.fma.fp32":5e-5},"layer2":{"launch":1e-6},
        "band":[1e-4,2e-4],"rates_id":"abc","sm_clock_hz":2.5e9,"model_hash":"def"}})"));
}

inline Json measurement(const Json& predicted) {
    return with_case(Json{{"prediction_id", predicted.at("id")},
                          {"correctness", verdict(true)},
                          {"measurement", measured()}});
}

inline Json content(const std::string& kind) {
    const std::string id(32, 'a');
    const Json device = with_case(Json::object()).at("device");
    if (kind == "prediction") {
        return prediction();
    }
    if (kind == "measurement") {
        return measurement(Json{{"id", id}});
    }
    if (kind == "counters") {
        return Json{{"measurement_id", id}, {"counters", {{"dram", 1.5}, {"limiter", "dram"}}}};
    }
    if (kind == "comparison") {
        Json peer = measured();
        peer.update(Json{{"name", "torch_cpu"},
                         {"version", "2"},
                         {"backend", "math"},
                         {"correctness", verdict(true)}});
        return with_case(Json{{"measurement", measured()},
                              {"peer", peer},
                              {"ratio", 1.0},
                              {"ratio_low", 9.8e-5 / 1.02e-4},
                              {"ratio_high", 1.02e-4 / 9.8e-5}});
    }
    if (kind == "ceiling") {
        return Json{{"device", device},
                    {"ceiling", Json::parse(R"({"resource":"byte.dram_read","value":2e10,
                        "unit":"byte/s","clock_hz":2.5e9,"power_w":0,"method":"sweep","limit":0})")}};
    }
    if (kind == "check") {
        return with_case(Json{{"correctness", verdict(false)}});
    }
    if (kind == "refusal") {
        return with_case(Json{{"reason", "head dim 512 is not supported"}});
    }
    if (kind == "device") {
        return Json{{"device", device}, {"anything", {1, 2, 3}}};
    }
    return Json{{"kernel", "cpu_flash"}, {"tiles", 4}};
}

/// The same as schema 1 had it.
inline Json as_schema_1(Json row) {
    row["schema"] = 1;
    for (const char* later : {"op", "pass"}) {
        row.erase(later);
    }
    const auto without = [&row](const char* object, std::initializer_list<const char*> members) {
        if (const auto found = row.find(object); found != row.end() && found->is_object()) {
            for (const char* member : members) {
                found->erase(member);
            }
        }
    };
    without("case", {"regime"});
    without("correctness", {"bound_worst", "aligned", "bound_aligned", "lse_worst"});
    for (const char* side : {"measurement", "peer"}) {
        without(side, {"disturbed", "unsettled", "disturbance", "settled", "throttled"});
    }
    return row;
}

inline RowContext context() {
    RowContext c;
    c.argv = {"raceline", "bench"};
    c.git_commit = std::string(40, '0');
    return c;
}

inline Json row(const std::string& kind) {
    return make_row(context(), kind, "hash-of-source", content(kind));
}

/// A folder of this test alone, removed with what is in it.
class Folder : public testing::Test {
protected:
    Folder() {
        std::string form = (std::filesystem::temp_directory_path() / "receipt-XXXXXX").string();
        folder_ = mkdtemp(form.data());
    }
    ~Folder() override { std::filesystem::remove_all(folder_); }

    [[nodiscard]] std::string path(const std::string& name = "r.jsonl") const {
        return (folder_ / name).string();
    }
    [[nodiscard]] static std::string read(const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    static void write(const std::string& path, const std::string& bytes) {
        std::ofstream(path, std::ios::binary) << bytes;
    }

private:
    std::filesystem::path folder_;
};

/// Gives rows that were changed fitting hashes: what is wrong then is their content.
inline void chain_again(ReceiptFile& file) {
    Json last = nullptr;
    for (Json& row : file.rows) {
        row["prev"] = last;
        last = row["hash"] = row_hash(row);
    }
}

/// All findings in one text, for messages and matches.
inline std::string findings(const ReceiptFile& file) {
    std::string text;
    for (const BadLine& bad : check_receipts(file)) {
        text += std::to_string(bad.line) + ": " + bad.reason + "\n";
    }
    return text;
}

}  // namespace raceline::example
