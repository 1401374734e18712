// SPDX-License-Identifier: Apache-2.0
// What host code needs of the CUDA runtime, without its headers. Every failure is an
// Error(internal) that names the call and CUDA's own error name; destructors never throw.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "raceline/dtype.hpp"

namespace raceline::cuda {

/// Empty if there is a usable device, else why not, as a clause: no CUDA in this build, no driver,
/// no device. Never throws.
std::string why_unavailable();

/// Bytes of the L2 of the current device.
std::size_t l2_bytes();
/// Bytes that an allocation may still take on the current device.
std::size_t free_bytes();

/// Device memory from cudaMalloc: never managed, so that no access faults pages in while timed.
class DeviceBuffer {
public:
    DeviceBuffer() = default;
    explicit DeviceBuffer(std::size_t bytes);
    DeviceBuffer(DeviceBuffer&& other) noexcept;
    DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
    DeviceBuffer(const DeviceBuffer&) = delete;
    DeviceBuffer& operator=(const DeviceBuffer&) = delete;
    ~DeviceBuffer();

    [[nodiscard]] std::byte* data() const { return data_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

private:
    std::byte* data_ = nullptr;
    std::size_t bytes_ = 0;
};

/// Blocking copies and fills: on return the bytes are there for every stream. `device` is a device
/// address.
void upload(void* device, const void* host, std::size_t bytes);
void download(void* host, const void* device, std::size_t bytes);
void copy(void* to_device, const void* from_device, std::size_t bytes);
void fill(void* device, unsigned char byte, std::size_t bytes);
/// `count` independent standard normals, rounded into storage (fp32, fp16, bf16, e4m3), from a
/// counter-based generator: element i of a seed is the same on every device.
void fill_normal(void* device, DType dtype, std::size_t count, std::uint64_t seed);

/// Waits for the device; reports errors of kernels that ran before.
void synchronize();
/// Reports the error of the launch before, if it had one. `what` names that launch.
void check_launch(const char* what);

/// A stream that does not synchronise with the default stream.
class Stream {
public:
    Stream();
    Stream(Stream&&) = delete;
    ~Stream();
    [[nodiscard]] void* get() const { return stream_; }  ///< a cudaStream_t
    void synchronize() const;

private:
    void* stream_ = nullptr;
};

/// What `call(stream, i)` enqueues for i = 0 … repeats - 1, captured once, replayed at will.
class Graph {
public:
    Graph(const Stream& stream, const std::function<void(void* stream, int i)>& call, int repeats);
    Graph(Graph&&) = delete;
    ~Graph();
    void launch(const Stream& stream) const;

private:
    [[maybe_unused]] void* executable_ = nullptr;  // unused without CUDA, as below
};

/// Device time between two points of a stream, by events (resolution about half a microsecond).
class StreamTimer {
public:
    StreamTimer();
    StreamTimer(StreamTimer&&) = delete;
    ~StreamTimer();
    void begin(const Stream& stream) const;
    void end(const Stream& stream) const;
    [[nodiscard]] double seconds() const;  ///< waits for `end`

private:
    [[maybe_unused]] void* begin_ = nullptr;
    [[maybe_unused]] void* end_ = nullptr;
};

/// Keeps the stream busy for about that long, on one thread of one SM.
void spin(const Stream& stream, double seconds);

/// Memory that no call uses. Reading it over fills a cache with data that is nobody's, and clean:
/// dirty lines would be written back at the expense of whoever comes next.
class ForeignData {
public:
    explicit ForeignData(std::size_t bytes);
    void read(const Stream& stream) const;

private:
    DeviceBuffer memory_;
};

/// What the driver says about clocks now. All zero where NVML is absent or refuses.
struct ClockState {
    double sm_clock_hz = 0;
    double power_w = 0;
    bool throttled = false;  ///< power cap, thermal or hardware slowdown; being idle is none
    bool slowed = false;     ///< of these heat or the board, not the power cap
};

/// NVML of the device that the CUDA runtime uses, found by its PCI address. Loaded by dlopen, so
/// that a machine without a driver still runs the program.
class Nvml {
public:
    Nvml();
    Nvml(Nvml&&) = delete;
    ~Nvml();
    [[nodiscard]] ClockState read() const;
    /// Joules that the board has taken since its driver was loaded, as NVML counts them (a new
    /// value some ten times a second); 0 where nobody tells.
    [[nodiscard]] double energy_j() const;
    /// Watts that the board may take; 0 where nobody tells.
    [[nodiscard]] double power_limit_w() const;
    /// Processes that compute on this device, this one not counted; 0 where nobody tells.
    [[nodiscard]] int other_processes() const;

private:
    struct Library;
    std::unique_ptr<Library> library_;
};

}  // namespace raceline::cuda
