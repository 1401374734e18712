// SPDX-License-Identifier: Apache-2.0
#include "page_output.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string_view>
#include <vector>

#include "device/catalog.hpp"
#include "support/check.hpp"
#include "support/subprocess.hpp"

namespace raceline::cli {
namespace {

using WordList = std::vector<std::string>;

// They write nothing, unless one of `writes_or_reads` asks for it.
constexpr std::array looks_up{std::string_view("predict"), std::string_view("devices"),
                              std::string_view("point")};
constexpr std::array writes_or_reads{std::string_view("--receipts"), std::string_view("--rates"),
                                     std::string_view("--color"), std::string_view("--wide")};

struct PageCommand {
    WordList words;    // without the program's name
    std::string grep;  // empty: all lines
};

PageCommand parse_command(const std::string& text) {
    std::istringstream in(text);
    WordList all{std::istream_iterator<std::string>(in), {}};
    PageCommand command;
    if (const auto pipe = std::ranges::find(all, "|"); pipe != all.end()) {
        require(std::distance(pipe, all.end()) == 3 && pipe[1] == "grep", Status::invalid_argument,
                "after a command of a page only `| grep WORD` may follow, not '{}'", text);
        command.grep = pipe[2];
        all.erase(pipe, all.end());
    }
    require(all.size() > 1 && all.front() == "raceline" &&
                std::ranges::find(looks_up, all[1]) != looks_up.end(),
            Status::invalid_argument,
            "'{}' must be `raceline predict`, `devices` or `point`, which write nothing", text);
    command.words.assign(all.begin() + 1, all.end());
    return command;
}

// What it prints must not depend on the machine.
void require_same_everywhere(const WordList& words, const std::string& text) {
    for (const std::string_view option : writes_or_reads) {
        require(std::ranges::none_of(words, [&](const auto& w) { return w.starts_with(option); }),
                Status::invalid_argument, "a command of a page takes no {}: '{}'", option, text);
    }
    const auto device = std::ranges::find(words, "--device");
    require(device != words.end() && device + 1 != words.end(), Status::invalid_argument,
            "'{}' must name a device, as in --device h200", text);
    require(datasheet_device(device[1]).kind == DeviceKind::cuda, Status::invalid_argument,
            "--device {} is no NVIDIA GPU: what a processor answers depends on the machine",
            device[1]);
}

// This program, and no other one that has its commands (a fuzzer).
std::string this_program() {
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
    require(program.filename() == "raceline", Status::unsupported,
            "{} is not the program raceline, of which a page has commands", program.string());
    return program.string();
}

std::string lines_with(const std::string& text, const std::string& word) {
    std::istringstream in(text);
    std::string chosen;
    for (std::string line; std::getline(in, line);) {
        if (line.find(word) != std::string::npos) {
            chosen += line + "\n";
        }
    }
    return chosen;
}

// As a reader may copy it: in lines of at most 80 columns, which the shell joins.
std::string in_shell_lines(const std::string& text) {
    constexpr std::size_t columns = 80, indent = 4;
    std::istringstream in(text);
    const WordList words{std::istream_iterator<std::string>(in), {}};
    std::string all, line;
    for (auto at = words.begin(); at != words.end(); ++at) {
        std::string word = *at;
        // A value stays with its option, and a pipe with what follows it.
        if ((word.starts_with("--") || word == "|") && at + 1 != words.end() &&
            !at[1].starts_with("--") && at[1] != "|") {
            word += " " + *++at;
        }
        if (!line.empty() && line.size() + 1 + word.size() + 2 > columns) {
            all += line + " \\\n";
            line = std::string(indent - 1, ' ');
        }
        line += (line.empty() ? "" : " ") + word;
    }
    return all + line + "\n";
}

}  // namespace

std::string page_output(const DocsBlock& block) {
    const std::string& text = block.at("command");
    const PageCommand command = parse_command(text);
    require_same_everywhere(command.words, text);
    // As wide as a reader's pipe is: what it prints for him can be compared.
    WordList words{"env",
                   "-u",
                   "NO_COLOR",
                   "-u",
                   "COLUMNS",
                   "CUDA_VISIBLE_DEVICES=",
                   "XDG_CACHE_HOME=/nonexistent",
                   this_program()};
    words.insert(words.end(), command.words.begin(), command.words.end());
    const std::optional<std::string> all = output_of(words);
    if (!all) {
        fail(Status::invalid_argument, "`{}` fails: try it", text);
    }
    const std::string printed = command.grep.empty() ? *all : lines_with(*all, command.grep);
    require(!printed.empty(), Status::invalid_argument, "`{}` prints nothing", text);
    return "\n```sh\n" + in_shell_lines(text) + "```\n\n```text\n" + printed + "```\n";
}

}  // namespace raceline::cli
