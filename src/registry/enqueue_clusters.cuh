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
    ClusterLaunch(const LaunchShape& shape, int cluster)
        : config_{shape.grid,       dim3(static_cast<unsigned>(shape.threads)),
                  shape.smem_bytes, static_cast<cudaStream_t>(shape.stream),
                  &attribute_,      1} {
        attribute_.id = cudaLaunchAttributeClusterDimension;
        attribute_.val.clusterDim.x = static_cast<unsigned>(cluster);
        attribute_.val.clusterDim.y = 1;
        attribute_.val.clusterDim.z = 1;
    }
    ClusterLaunch(const ClusterLaunch&) = delete;  // it holds an address of its own
    ClusterLaunch& operator=(const ClusterLaunch&) = delete;

    [[nodiscard]] const cudaLaunchConfig_t* config() const { return &config_; }

private:
    cudaLaunchAttribute attribute_{};
    cudaLaunchConfig_t config_;
};

/// What most_clusters has answered this thread, by code, device, shared memory and cluster.
inline auto& known_clusters() {
    using Key = std::tuple<const void*, int, std::size_t, int>;
    thread_local std::map<Key, int> known;
    return known;
}

/// Clusters of so many CTAs that the device runs at once; 0 where it has no room for one, or no
/// clusters of that size, or where the code was compiled for devices without. A thread remembers
/// the answer until a launch in clusters fails, for the device may have been reset. Clusters of
/// more than eight CTAs are asked for first: not every device has them.
template <class... Parameters>
int most_clusters(const char* who, void (*code)(Parameters...), const LaunchShape& shape,
                  int cluster) {
    const auto* const address = reinterpret_cast<const void*>(code);
    int device = 0;
    check_cuda(cudaGetDevice(&device), who, ": the device");
    const auto [its, is_new] =
        known_clusters().insert({{address, device, shape.smem_bytes, cluster}, 0});
    if (is_new) {
        constexpr int portable = 8;  // CUDA programming guide
        cudaFuncAttributes compiled{};
        check_cuda(cudaFuncGetAttributes(&compiled, address), who, ": its attributes");
        allow_shared_memory(who, address, shape.smem_bytes);
        const bool runs =
            compiled.ptxVersion >= 90 &&
            (cluster <= portable ||
             cudaFuncSetAttribute(address, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) ==
                 cudaSuccess) &&
            cudaOccupancyMaxActiveClusters(&its->second, code,
                                           ClusterLaunch(shape, cluster).config()) == cudaSuccess;
        if (!runs) {
            its->second = 0;
            static_cast<void>(cudaGetLastError());  // else the next launch would report it
        }
    }
    return its->second;
}

/// As enqueue, in clusters of so many CTAs, of which most_clusters has said that one runs.
template <class... Parameters, class... Arguments>
void enqueue_in_clusters(const char* who, void (*code)(Parameters...), const LaunchShape& shape,
                         int cluster, const Arguments&... arguments) {
    allow_shared_memory(who, reinterpret_cast<const void*>(code), shape.smem_bytes);
    const cudaError_t status =
        cudaLaunchKernelEx(ClusterLaunch(shape, cluster).config(), code, arguments...);
    if (status != cudaSuccess) {
        known_clusters().clear();
    }
    check_launch(who, status);
}

}  // namespace raceline
