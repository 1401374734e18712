// SPDX-License-Identifier: Apache-2.0
// Where receipts go if nobody says: the XDG base directory specification's state folder.
#include <cstdlib>

#include "receipt/file.hpp"
#include "support/build_info.hpp"
#include "support/check.hpp"
#include "support/time.hpp"

namespace raceline {
namespace {

std::string state_folder() {
    // The specification has relative paths ignored.
    if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && state[0] == '/') {
        return state;
    }
    const char* home = std::getenv("HOME");
    require(home != nullptr && home[0] == '/', Status::io,
            "no folder for receipts: neither XDG_STATE_HOME nor HOME names an absolute path; set "
            "one, or name a receipt file");
    return std::string(home) + "/.local/state";
}

}  // namespace

std::string default_receipt_path(std::string_view what) {
    constexpr std::string_view kept =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._";
    std::string word;
    for (const char c : what.substr(0, 64)) {
        word += kept.find(c) == std::string_view::npos ? '-' : c;
    }
    const std::string now = utc_now();
    const std::string time = now.substr(11, 2) + now.substr(14, 2) + now.substr(17, 2);
    return fmt::format("{}/raceline/{}T{}-{}-{}.jsonl", state_folder(), now.substr(0, 10), time,
                       word, build_info::git_commit().substr(0, 12));
}

}  // namespace raceline
