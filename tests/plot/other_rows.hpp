// SPDX-License-Identifier: Apache-2.0
// Rows as another run would have written them.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "receipt/row.hpp"
#include "support/sha256.hpp"

namespace raceline::test {

/// The same rows with identities of their own, each changed by `change`.
inline std::vector<Json> other_rows(const std::vector<Json>& rows, const std::string& mark,
                                    const std::function<void(Json&)>& change) {
    std::vector<Json> others = rows;
    for (Json& row : others) {
        for (const char* id : {"id", "prediction_id"}) {
            if (row.contains(id)) {
                row[id] = sha256_hex(mark + row.at(id).get<std::string>()).substr(0, 32);
            }
        }
        change(row);
    }
    return others;
}

inline std::vector<Json> at_commit(const std::vector<Json>& rows, char letter) {
    return other_rows(rows, std::string(1, letter), [&](Json& row) {
        row["git"]["commit"] = std::string(40, letter);
        row["written"] = std::string("2026-12-") + (letter < 'k' ? "0" : "1") +
                         std::to_string(letter % 10) + "T00:00:00.000000Z";
    });
}

inline std::vector<Json> joined(std::vector<Json> some, const std::vector<Json>& others) {
    some.insert(some.end(), others.begin(), others.end());
    return some;
}

}  // namespace raceline::test
