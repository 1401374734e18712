// SPDX-License-Identifier: Apache-2.0
#include "interruption.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <csignal>
#include <cstring>
#include <string_view>
#include <unistd.h>

#include "support/one_line.hpp"

namespace raceline::cli {
namespace {

constexpr int first_signal_exit = 128;
constexpr std::array signals{SIGINT, SIGTERM};

std::atomic<int> noted{0};

// Two texts, so that one can be written while the handler may read the other.
struct Sentence {
    std::array<char, 1024> bytes;
    std::size_t size;
    std::array<char, PATH_MAX> removed;  // a path, or nothing
};
std::array<Sentence, 2> sentences;
std::atomic<int> current{0};

// May run at any instruction of any thread: only what is safe there.
void write_to_person(const char* bytes, std::size_t size) {
    static_cast<void>(!::write(STDERR_FILENO, bytes, size));
}

[[noreturn]] void stop_at_once(int signal) {
    const Sentence& sentence = sentences[static_cast<std::size_t>(current.load())];
    if (sentence.removed.front() != '\0') {
        static_cast<void>(!::unlink(sentence.removed.data()));
    }
    write_to_person(sentence.bytes.data(), sentence.size);
    _exit(first_signal_exit + signal);
}

void note(int signal) {
    int none = 0;
    if (noted.compare_exchange_strong(none, signal)) {
        constexpr std::string_view soon =
            "\nraceline: stopping after the case in hand; a second time stops at once\n";
        write_to_person(soon.data(), soon.size());
        return;
    }
    stop_at_once(signal);
}

void set_sentence(const std::string& sentence, const std::string& removed = "") {
    const int next = 1 - current.load();
    Sentence& written = sentences[static_cast<std::size_t>(next)];
    std::string line = one_line(sentence).substr(0, written.bytes.size() - 2);
    line = "\n" + line + "\n";
    std::copy(line.begin(), line.end(), written.bytes.begin());
    written.size = line.size();
    written.removed.fill('\0');
    if (removed.size() < written.removed.size()) {
        std::ranges::copy(removed, written.removed.begin());
    }
    current = next;
}

void set_handlers(void (*handler)(int)) {
    for (const int signal : signals) {
        struct sigaction known{};
        sigaction(signal, nullptr, &known);
        // A shell ignores Ctrl-C for what it runs in the background; so it stays.
        if (known.sa_handler != SIG_IGN) {
            struct sigaction action{};
            action.sa_handler = handler;
            action.sa_flags = SA_RESTART;
            sigemptyset(&action.sa_mask);
            sigaction(signal, &action, nullptr);
        }
    }
}

}  // namespace

StopBeforeCases::StopBeforeCases(const std::string& kept) {
    set_sentence("raceline: stopped: " + kept);
    set_handlers(stop_at_once);
}

StopBeforeCases::~StopBeforeCases() {
    set_handlers(SIG_DFL);
}

Interruption::Interruption() {
    noted = 0;
    say_at_once("raceline: stopped");
    set_handlers(note);
}

Interruption::~Interruption() {
    set_handlers(SIG_DFL);
}

void Interruption::say_at_once(const std::string& sentence, const std::string& removed) {
    set_sentence(sentence, removed);
}

int Interruption::signal() const {
    return noted;
}

std::string Interruption::name() const {
    return noted == SIGTERM ? "a termination signal" : "Ctrl-C";
}

int Interruption::exit_code() const {
    return noted == 0 ? 0 : first_signal_exit + noted;
}

}  // namespace raceline::cli
