// SPDX-License-Identifier: Apache-2.0
// What a command of this program prints, as a block of a page.
#pragma once

#include <string>

#include "report/docs_page.hpp"

namespace raceline::cli {

/// The block's command and under it what it prints, as a terminal of 80 columns has it. The command
/// is `raceline predict`, `devices` or `point` of a named NVIDIA GPU, and may end in `| grep WORD`:
/// no live device and no ceilings of this machine have a part in it, so that the block is the same
/// wherever it is written. Throws Error for any other command, and for one that fails.
std::string page_output(const DocsBlock& block);

}  // namespace raceline::cli
