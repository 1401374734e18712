// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace raceline {

/// Refuses a file in a folder that does not exist: a misspelt path must not make a new tree.
/// `option` as below.
void require_folder(const std::string& option, const std::string& file);

/// Refuses, before anything is read, an output file in whose place stands what must not be lost: a
/// folder, one of `inputs` by whatever name or link, or a file whose content is not of the form
/// that its name promises (.html, .svg, .png, .pdf, .gp), such as receipts under a picture's name.
/// Empty files, devices and pipes pass; so that it can be there at all, its folder exists.
/// `option`: what named the file, as "-o".
void require_output(const std::string& option, const std::string& file,
                    const std::vector<std::string>& inputs);

}  // namespace raceline
