// SPDX-License-Identifier: Apache-2.0
#include "report/sights.hpp"

#include "registry/registry.hpp"

namespace raceline {

FirstSights sights_of_this_build(std::span<const build_info::EmbeddedSight> committed) {
    return {committed, [](std::string_view kernel) { return names_of_kernel(kernel); }};
}

}  // namespace raceline
