// SPDX-License-Identifier: Apache-2.0
// Any words on the command line: parsed or refused, never a crash. Words are separated by newlines.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "raceline/error.hpp"
#include "selection.hpp"
#include "workload/workload.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<std::string> words{"raceline", ""};
    for (std::size_t i = 0; i < size; ++i) {
        if (data[i] == '\n') {
            words.emplace_back();
        } else if (data[i] != 0) {
            words.back() += static_cast<char>(data[i]);
        }
    }
    words.erase(words.begin() + 1, words.begin() + (words[1].empty() ? 2 : 1));
    std::vector<const char*> argv;
    for (const std::string& word : words) {
        argv.push_back(word.c_str());
    }
    const auto line = raceline::cli::parse_command_line(static_cast<int>(argv.size()), argv.data());
    if (line.run != nullptr) {
        try {
            std::string suite;
            for (const auto& workload : raceline::cli::select_workloads(line.options, &suite)) {
                raceline::validate(workload);
            }
        } catch (const raceline::Error&) {
            // A refusal is the right answer to most inputs.
        }
    }
    return 0;
}
