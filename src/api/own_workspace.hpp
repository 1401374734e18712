// SPDX-License-Identifier: Apache-2.0
// Calls that ask for their workspace once its size is known. They look at their arguments once; a
// caller that asks for the size first has that done twice.
#pragma once

#include <cstddef>
#include <functional>

#include "raceline/raceline.hpp"

namespace raceline::api {

/// Workspace of this many bytes, as Execution describes it; 0 bytes are not asked for. It must last
/// until the call returns and, on a GPU, until what is then in the stream is done.
using Allocate = std::function<void*(std::size_t bytes)>;

/// As raceline::forward and raceline::decode. Of several faults they name the one that
/// forward_workspace or decode_workspace would, if it would one.
void forward(const ForwardArgs& args, Place place, void* stream, const Allocate& allocate);
void decode(const DecodeArgs& args, Place place, void* stream, const Allocate& allocate);

}  // namespace raceline::api
