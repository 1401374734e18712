// SPDX-License-Identifier: Apache-2.0
// Launches in thread block clusters (compute capability 9.0).
#pragma once

#include <cstdint>
#include <tuple>

#include "registry/enqueue.cuh"

namespace raceline {

/// A launch in clusters of so many CTAs, and the attribute that says so.
class ClusterLaunch {
public:
    ClusterLaunch(const LaunchShape& shape, int cluster) {
        attribute_.id = cudaLaunchAttributeClusterDimension;
        attribute_.val.clusterDim.x = static_cast<unsigned>(cluster);
        attribute_.val.clusterDim.y = 1;
        attribute_.val.clusterDim.z = 1;
        config_.gridDim = shape.grid;
        config_.blockDim = dim3(static_cast<unsigned>(shape.threads));
        config_.dynamicSmemBytes = shape.smem_bytes;
        config_.stream = static_cast<cudaStream_t>(shape.stream);
        config_.attrs = &attribute_;
        config_.numAttrs = 1;
    }
    ClusterLaunch(const ClusterLaunch&) = delete;  // it holds an address of its own
    ClusterLaunch& operator=(const ClusterLaunch&) = delete;

    [[nodiscard]] const cudaLaunchConfig_t* config() const { return &config_; }

private:
    cudaLaunchAttribute attribute_{};
    cudaLaunchConfig_t config_{};
};

/// Clusters of so many CTAs that the device runs at once. A thread remembers the answer. Clusters
/// of more than eight CTAs are asked for first: not every device has them.
template <class... Parameters>
std::int64_t most_clusters(const char* who, void (*code)(Parameters...), const LaunchShape& shape,
                           int cluster) {
    using Key = std::tuple<const void*, int, std::size_t, int>;
    thread_local std::map<Key, int> known;
    const auto* const address = reinterpret_cast<const void*>(code);
    int device = 0;
    check_cuda(cudaGetDevice(&device), who, ": the device");
    int& count = known[{address, device, shape.smem_bytes, cluster}];
    if (count == 0) {
        constexpr int portable = 8;  // CUDA programming guide
        allow_shared_memory(who, address, shape.smem_bytes);
        if (cluster > portable) {
            check_cuda(
                cudaFuncSetAttribute(address, cudaFuncAttributeNonPortableClusterSizeAllowed, 1),
                who, ": asking for clusters");
        }
        check_cuda(
            cudaOccupancyMaxActiveClusters(&count, code, ClusterLaunch(shape, cluster).config()),
            who, ": clusters at once");
    }
    return count;
}

/// As enqueue, in clusters of so many CTAs, for which most_clusters was asked.
template <class... Parameters, class... Arguments>
void enqueue_in_clusters(const char* who, void (*code)(Parameters...), const LaunchShape& shape,
                         int cluster, const Arguments&... arguments) {
    allow_shared_memory(who, reinterpret_cast<const void*>(code), shape.smem_bytes);
    check_launch(who,
                 cudaLaunchKernelEx(ClusterLaunch(shape, cluster).config(), code, arguments...));
}

}  // namespace raceline
