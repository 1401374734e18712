// SPDX-License-Identifier: Apache-2.0
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <string>
#include <utility>

#include "raceline/error.hpp"
#include "support/cuda_check.cuh"
#include "support/out_of_memory.hpp"
#include "timing/cuda_runtime.hpp"

namespace raceline::cuda {
namespace {

cudaStream_t as_stream(void* stream) {
    return static_cast<cudaStream_t>(stream);
}
cudaEvent_t as_event(void* event) {
    return static_cast<cudaEvent_t>(event);
}

}  // namespace

std::string why_unavailable() {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status != cudaSuccess) {
        cudaGetLastError();
        return std::string("the CUDA runtime says: ") + cudaGetErrorString(status);
    }
    return count > 0 ? "" : "the CUDA runtime finds no device";
}

std::size_t l2_bytes() {
    int device = 0;
    int bytes = 0;
    check_cuda(cudaGetDevice(&device), "cudaGetDevice");
    check_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrL2CacheSize, device),
               "cudaDeviceGetAttribute(L2 size)");
    return static_cast<std::size_t>(bytes);
}

std::size_t free_bytes() {
    std::size_t available_bytes = 0;
    std::size_t total = 0;
    check_cuda(cudaMemGetInfo(&available_bytes, &total), "cudaMemGetInfo");
    return available_bytes;
}

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
    void* memory = nullptr;
    // An empty tensor still gets an address, so that no pointer means "absent" by accident.
    const cudaError_t status = cudaMalloc(&memory, bytes > 0 ? bytes : 1);
    if (status == cudaErrorMemoryAllocation) {
        cudaGetLastError();  // not one of the next call's
        throw OutOfMemory("it needs " + std::to_string(bytes) +
                          " bytes of GPU memory at once, and " + std::to_string(free_bytes()) +
                          " are free; take a smaller shape");
    }
    check_cuda(status, "cudaMalloc of " + std::to_string(bytes) + " bytes");
    data_ = static_cast<std::byte*>(memory);
}
DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
}
DeviceBuffer::~DeviceBuffer() {
    cudaFree(data_);
}

namespace {

// cudaMemcpy returns before small uploads and copies on the device have arrived, cudaMemset always
// does, and streams that do not wait for the default one (Stream) would read what was there before.
void wait_for_default_stream(const char* what) {
    check_cuda(cudaStreamSynchronize(cudaStreamLegacy), what);
}

}  // namespace

void upload(void* device, const void* host, std::size_t bytes) {
    check_cuda(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice), "cudaMemcpy to the device");
    wait_for_default_stream("cudaMemcpy to the device");
}
void download(void* host, const void* device, std::size_t bytes) {
    check_cuda(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost),
               "cudaMemcpy from the device");
}
void copy(void* to_device, const void* from_device, std::size_t bytes) {
    check_cuda(cudaMemcpy(to_device, from_device, bytes, cudaMemcpyDeviceToDevice),
               "cudaMemcpy on the device");
    wait_for_default_stream("cudaMemcpy on the device");
}
void fill(void* device, unsigned char byte, std::size_t bytes) {
    check_cuda(cudaMemset(device, byte, bytes), "cudaMemset");
    wait_for_default_stream("cudaMemset");
}

namespace {

// SplitMix64: a counter-based generator whose every output is a full mix of its input.
__device__ std::uint64_t mix(std::uint64_t x) {
    x += 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    return x ^ (x >> 31);
}

// Box-Muller: two uniforms of 24 bits give one normal; the first is never 0.
__device__ float normal(std::uint64_t seed, std::uint64_t index) {
    const std::uint64_t bits = mix(mix(seed) ^ index);
    const float u = (static_cast<float>(static_cast<std::uint32_t>(bits >> 40)) + 0.5F) * 0x1p-24F;
    const float v = static_cast<float>(static_cast<std::uint32_t>(bits & 0xFFFFFFU)) * 0x1p-24F;
    return sqrtf(-2 * logf(u)) * cospif(2 * v);
}

__device__ void store(float* to, float x) {
    *to = x;
}
__device__ void store(__half* to, float x) {
    *to = __float2half_rn(x);
}
__device__ void store(__nv_bfloat16* to, float x) {
    *to = __float2bfloat16_rn(x);
}
__device__ void store(__nv_fp8_e4m3* to, float x) {
    *to = __nv_fp8_e4m3(x);
}

template <class T>
__global__ void fill_normal_kernel(T* to, std::size_t count, std::uint64_t seed) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += stride) {
        store(to + i, normal(seed, i));
    }
}

template <class T>
void launch_fill(void* device, std::size_t count, std::uint64_t seed) {
    constexpr unsigned threads = 256;
    const std::size_t wanted = (count + threads - 1) / threads;
    const auto blocks = static_cast<unsigned>(wanted < 65535 ? wanted : 65535);
    fill_normal_kernel<<<blocks, threads>>>(static_cast<T*>(device), count, seed);
}

}  // namespace

void fill_normal(void* device, DType dtype, std::size_t count, std::uint64_t seed) {
    if (count == 0) {
        return;
    }
    switch (dtype) {
        case DType::fp32: launch_fill<float>(device, count, seed); break;
        case DType::fp16: launch_fill<__half>(device, count, seed); break;
        case DType::bf16: launch_fill<__nv_bfloat16>(device, count, seed); break;
        case DType::e4m3: launch_fill<__nv_fp8_e4m3>(device, count, seed); break;
        default:
            throw Error(
                Status::unsupported,
                std::string("fill_normal takes fp32, fp16, bf16 or e4m3, not ") + name_of(dtype));
    }
    check_launch("fill_normal");
}

void synchronize() {
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}
void check_launch(const char* what) {
    check_cuda(cudaGetLastError(), std::string("the launch of ") + what);
}

Stream::Stream() {
    cudaStream_t stream = nullptr;
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    stream_ = stream;
}
Stream::~Stream() {
    cudaStreamDestroy(as_stream(stream_));
}
void Stream::synchronize() const {
    check_cuda(cudaStreamSynchronize(as_stream(stream_)), "cudaStreamSynchronize");
}

Graph::Graph(const Stream& stream, const std::function<void(void*, int)>& call, int repeats) {
    cudaStream_t s = as_stream(stream.get());
    cudaGraph_t graph = nullptr;
    check_cuda(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal),
               "cudaStreamBeginCapture");
    try {
        for (int i = 0; i < repeats; ++i) {
            call(stream.get(), i);
        }
    } catch (...) {
        // The stream must leave capture, or every later call on it fails for the wrong reason.
        cudaStreamEndCapture(s, &graph);
        cudaGraphDestroy(graph);
        cudaGetLastError();
        throw;
    }
    check_cuda(cudaStreamEndCapture(s, &graph), "cudaStreamEndCapture");
    cudaGraphExec_t executable = nullptr;
    const cudaError_t made = cudaGraphInstantiate(&executable, graph, 0);
    cudaGraphDestroy(graph);
    check_cuda(made, "cudaGraphInstantiate");
    executable_ = executable;
    check_cuda(cudaGraphUpload(executable, s), "cudaGraphUpload");
}
Graph::~Graph() {
    cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(executable_));
}
void Graph::launch(const Stream& stream) const {
    check_cuda(cudaGraphLaunch(static_cast<cudaGraphExec_t>(executable_), as_stream(stream.get())),
               "cudaGraphLaunch");
}

StreamTimer::StreamTimer() {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreate(&event), "cudaEventCreate");
    begin_ = event;
    check_cuda(cudaEventCreate(&event), "cudaEventCreate");
    end_ = event;
}
StreamTimer::~StreamTimer() {
    cudaEventDestroy(as_event(begin_));
    cudaEventDestroy(as_event(end_));
}
void StreamTimer::begin(const Stream& stream) const {
    check_cuda(cudaEventRecord(as_event(begin_), as_stream(stream.get())), "cudaEventRecord");
}
void StreamTimer::end(const Stream& stream) const {
    check_cuda(cudaEventRecord(as_event(end_), as_stream(stream.get())), "cudaEventRecord");
}
double StreamTimer::seconds() const {
    check_cuda(cudaEventSynchronize(as_event(end_)), "cudaEventSynchronize");
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, as_event(begin_), as_event(end_)),
               "cudaEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
}

namespace {

__global__ void spin_kernel(std::uint64_t nanoseconds) {
    std::uint64_t begin = 0;
    std::uint64_t now = 0;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - begin < nanoseconds);
}

__global__ void read_kernel(const uint4* from, std::size_t count, unsigned* sink) {
    const std::size_t stride = std::size_t{gridDim.x} * blockDim.x;
    unsigned seen = 0;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count;
         i += stride) {
        const uint4 x = from[i];
        seen |= x.x | x.y | x.z | x.w;
    }
    if (seen != 0) {  // never: all of it is 0, which the compiler cannot know
        *sink = seen;
    }
}

}  // namespace

void spin(const Stream& stream, double seconds) {
    spin_kernel<<<1, 1, 0, as_stream(stream.get())>>>(static_cast<std::uint64_t>(seconds * 1e9));
    check_launch("spin");
}

ForeignData::ForeignData(std::size_t bytes) : memory_((bytes + 31) / 16 * 16) {
    fill(memory_.data(), 0, memory_.bytes());
    // The fill is on the default stream, which streams of ours do not wait for.
    synchronize();
}

void ForeignData::read(const Stream& stream) const {
    constexpr unsigned blocks = 1024;
    constexpr unsigned threads = 256;
    auto* const words = reinterpret_cast<unsigned*>(memory_.data());
    read_kernel<<<blocks, threads, 0, as_stream(stream.get())>>>(
        reinterpret_cast<const uint4*>(words), memory_.bytes() / sizeof(uint4), words);
    check_launch("read");
}

}  // namespace raceline::cuda
