// SPDX-License-Identifier: Apache-2.0
#include "support/subprocess.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;  // NOLINT(readability-redundant-declaration): not every libc declares it

namespace raceline {
namespace {

std::vector<char*> environment() {
    constexpr std::array<std::string_view, 4> of_a_hook{
        "GIT_DIR=", "GIT_WORK_TREE=", "GIT_INDEX_FILE=", "GIT_PREFIX="};
    std::vector<char*> kept;
    for (char** variable = environ; *variable != nullptr; ++variable) {
        const std::string_view text(*variable);
        if (std::ranges::none_of(of_a_hook,
                                 [&](std::string_view one) { return text.starts_with(one); })) {
            kept.push_back(*variable);
        }
    }
    kept.push_back(nullptr);
    return kept;
}

std::string read_all(int fd) {
    std::string text;
    std::array<char, 1 << 16> block{};
    for (;;) {
        const ssize_t got = read(fd, block.data(), block.size());
        if (got > 0) {
            text.append(block.data(), static_cast<std::size_t>(got));
        } else if (got == 0 || errno != EINTR) {
            return text;
        }
    }
}

bool write_all(int fd, std::string_view text) {
    while (!text.empty()) {
        const ssize_t put = write(fd, text.data(), text.size());
        if (put < 0 && errno != EINTR) {
            return false;
        }
        text.remove_prefix(put > 0 ? static_cast<std::size_t>(put) : 0);
    }
    return true;
}

// A file in memory and not a pipe: a child that answers before it has read all cannot block us.
int file_holding(std::string_view text) {
    const int fd = memfd_create("input", MFD_CLOEXEC);
    if (fd >= 0 && write_all(fd, text) && lseek(fd, 0, SEEK_SET) == 0) {
        return fd;
    }
    if (fd >= 0) {
        close(fd);
    }
    return -1;
}

int waited_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::vector<char*> words_of(const std::vector<std::string>& command) {
    std::vector<char*> words;
    for (const std::string& word : command) {
        words.push_back(const_cast<char*>(word.c_str()));  // NOLINT: posix_spawn changes none
    }
    words.push_back(nullptr);
    return words;
}

}  // namespace

std::optional<std::string> output_of(const std::vector<std::string>& command,
                                     std::string_view input) {
    const std::vector<char*> words = words_of(command);
    const int given = file_holding(input);
    std::array<int, 2> ends{};
    if (given < 0 || pipe2(ends.data(), O_CLOEXEC) != 0) {
        close(given);
        return std::nullopt;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, given, STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    pid_t child = 0;
    const int failed =
        posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environment().data());
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    close(given);
    std::optional<std::string> text;
    if (failed == 0) {
        std::string all = read_all(ends[0]);
        if (waited_for(child) == 0) {
            text = std::move(all);
        }
    }
    close(ends[0]);
    return text;
}

int exit_status_of(const std::vector<std::string>& command) {
    const std::vector<char*> words = words_of(command);
    pid_t child = 0;
    const int failed =
        posix_spawnp(&child, words[0], nullptr, nullptr, words.data(), environment().data());
    return failed == 0 ? waited_for(child) : -1;
}

}  // namespace raceline
