// SPDX-License-Identifier: Apache-2.0
// A build without CUDA: nothing is available, and asking anyway is refused by name. Destructors
// with an empty body are no defaults: in a build with CUDA the same declarations have work to do.
#include "support/check.hpp"
#include "timing/cuda_runtime.hpp"

namespace raceline::cuda {
namespace {
[[noreturn]] void refuse(const char* what) {
    fail(Status::no_device, "{} needs a build with CUDA; this one was configured without nvcc",
         what);
}
}  // namespace

bool available() {
    return false;
}
std::string why_unavailable() {
    return "this build was configured without nvcc";
}
std::size_t l2_bytes() {
    refuse("the size of a GPU's L2");
}
std::size_t free_bytes() {
    refuse("the free memory of a GPU");
}

DeviceBuffer::DeviceBuffer(std::size_t) {
    refuse("device memory");
}
DeviceBuffer::DeviceBuffer(DeviceBuffer&&) noexcept {}
DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&&) noexcept {
    return *this;
}
DeviceBuffer::~DeviceBuffer() {}

void upload(void*, const void*, std::size_t) {
    refuse("a copy to a GPU");
}
void download(void*, const void*, std::size_t) {
    refuse("a copy from a GPU");
}
void copy(void*, const void*, std::size_t) {
    refuse("a copy on a GPU");
}
void fill(void*, unsigned char, std::size_t) {
    refuse("a fill on a GPU");
}
void fill_normal(void*, DType, std::size_t, std::uint64_t) {
    refuse("a fill on a GPU");
}
void synchronize() {
    refuse("waiting for a GPU");
}
void check_launch(const char* what) {
    refuse(what);
}

Stream::Stream() {
    refuse("a CUDA stream");
}
Stream::~Stream() {}
void Stream::synchronize() const {}

Graph::Graph(const Stream&, const std::function<void(void*, int)>&, int) {
    refuse("a CUDA graph");
}
Graph::~Graph() {}
void Graph::launch(const Stream&) const {}

StreamTimer::StreamTimer() {
    refuse("a CUDA event");
}
StreamTimer::~StreamTimer() {}
void StreamTimer::begin(const Stream&) const {}
void StreamTimer::end(const Stream&) const {}
double StreamTimer::seconds() const {
    return 0;
}

void spin(const Stream&, double) {
    refuse("a wait on a GPU");
}
ForeignData::ForeignData(std::size_t) {
    refuse("device memory");
}
void ForeignData::read(const Stream&) const {}

struct Nvml::Library {};
Nvml::Nvml() = default;
Nvml::~Nvml() = default;
ClockState Nvml::read() const {
    return {};
}
double Nvml::energy_j() const {
    return 0;
}

double Nvml::power_limit_w() const {
    return 0;
}

int Nvml::other_processes() const {
    return 0;
}

}  // namespace raceline::cuda
