// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace raceline::ptx {

/// fence.proxy.async.shared::cta: this thread's ordinary accesses to shared memory before it are
/// ordered before the asynchronous proxy's (wgmma, bulk copies) after it. A CTA barrier after the
/// fence extends that to other threads' asynchronous operations.
__device__ inline void fence_proxy_async_shared() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

}  // namespace raceline::ptx
