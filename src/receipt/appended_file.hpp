// SPDX-License-Identifier: Apache-2.0
// System calls on a file that several processes append to; knows nothing of rows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace raceline {

/// A file open for reading and appending. Every failing call throws Error(io) naming the path and
/// the system's reason. Calls interrupted by a signal are repeated.
class AppendedFile {
public:
    /// Creates the file and its folders if they do not exist.
    explicit AppendedFile(const std::string& path);
    ~AppendedFile();
    AppendedFile(const AppendedFile&) = delete;
    AppendedFile& operator=(const AppendedFile&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::size_t size() const;
    [[nodiscard]] std::string read(std::size_t begin, std::size_t end) const;
    void truncate(std::size_t size);

    /// One write(2). If not all of it fits, what was written is cut off again (`size` is the size
    /// before) and Error(io) says that the disk is full.
    void append(std::string_view bytes, std::size_t size);

    /// Exclusive advisory lock (flock) of all who append to this file; waits for it.
    class Lock {
    public:
        explicit Lock(const AppendedFile& file);
        ~Lock();
        Lock(const Lock&) = delete;
        Lock& operator=(const Lock&) = delete;

    private:
        int fd_;
    };

private:
    [[noreturn]] void fail_with(std::string_view what, int error) const;
    std::string path_;
    int fd_ = -1;
};

}  // namespace raceline
