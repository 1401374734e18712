// SPDX-License-Identifier: Apache-2.0
#include "receipt/appended_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "support/check.hpp"

namespace raceline {
namespace {

// Repeats a system call that a signal interrupted.
template <class Call>
auto retried(Call call) {
    auto result = call();
    while (result < 0 && errno == EINTR) {
        result = call();
    }
    return result;
}

std::string reason(int error) {
    return std::generic_category().message(error);
}

}  // namespace

AppendedFile::AppendedFile(const std::string& path) : path_(path) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code error;
    if (!folder.empty()) {
        std::filesystem::create_directories(folder, error);
        require(!error, Status::io, "{}: cannot create the folder '{}': {}", path, folder.string(),
                error.message());
    }
    fd_ =
        retried([&] { return open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644); });
    if (fd_ < 0) {
        fail_with("cannot open for appending", errno);
    }
}

AppendedFile::~AppendedFile() {
    if (fd_ >= 0) {
        close(fd_);
    }
}

void AppendedFile::fail_with(std::string_view what, int error) const {
    fail(Status::io, "{}: {}: {}", path_, what, reason(error));
}

std::size_t AppendedFile::size() const {
    struct stat state{};
    if (fstat(fd_, &state) != 0) {
        fail_with("cannot ask for the size", errno);
    }
    return static_cast<std::size_t>(state.st_size);
}

std::string AppendedFile::read(std::size_t begin, std::size_t end) const {
    std::string bytes(end - begin, '\0');
    std::size_t done = 0;
    while (done < bytes.size()) {
        const ssize_t got = retried([&] {
            return pread(fd_, bytes.data() + done, bytes.size() - done,
                         static_cast<off_t>(begin + done));
        });
        if (got < 0) {
            fail_with("cannot read", errno);
        }
        require(got > 0, Status::io, "{}: became shorter than {} bytes while it was read", path_,
                end);
        done += static_cast<std::size_t>(got);
    }
    return bytes;
}

void AppendedFile::truncate(std::size_t size) {
    if (retried([&] { return ftruncate(fd_, static_cast<off_t>(size)); }) != 0) {
        fail_with("cannot cut off an unfinished row", errno);
    }
}

void AppendedFile::append(std::string_view bytes, std::size_t size) {
    const ssize_t got = retried([&] { return write(fd_, bytes.data(), bytes.size()); });
    if (got == static_cast<ssize_t>(bytes.size())) {
        return;
    }
    // A short write is what a disk that fills up answers first; the error itself would come next.
    const int error = got < 0 ? errno : ENOSPC;
    if (got > 0) {
        truncate(size);
    }
    const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
    fail(Status::io, "{}: {}the row of {} bytes was not written, the rows before it are whole: {}",
         path_, full ? "disk full, " : "", bytes.size(), reason(error));
}

AppendedFile::Lock::Lock(const AppendedFile& file) : fd_(file.fd_) {
    if (retried([&] { return flock(fd_, LOCK_EX); }) != 0) {
        file.fail_with("cannot lock", errno);
    }
}

AppendedFile::Lock::~Lock() {
    flock(fd_, LOCK_UN);
}

}  // namespace raceline
