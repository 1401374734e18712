// SPDX-License-Identifier: Apache-2.0
// Launches in clusters on the plain machine, which runs a cluster's CTAs side by side.
#pragma once

#include "registry/enqueue.cuh"

namespace raceline {

/// As many as devices of tests have units.
template <class... Parameters>
int most_clusters(const char* /*who*/, void (* /*code*/)(Parameters...),
                  const LaunchShape& /*shape*/, int /*cluster*/) {
    return 2;
}

template <class... Parameters, class... Arguments>
void enqueue_in_clusters(const char* /*who*/, void (*code)(Parameters...), const LaunchShape& shape,
                         int cluster, const Arguments&... arguments) {
    test::enqueue_in_clusters(code, shape.grid, static_cast<unsigned>(shape.threads),
                              shape.smem_bytes, static_cast<unsigned>(cluster))(arguments...);
}

}  // namespace raceline
