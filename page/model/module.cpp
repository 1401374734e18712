// SPDX-License-Identifier: Apache-2.0
// What JavaScript calls in the WebAssembly module of the page.
#include <string>

#include "page/what_if.hpp"

/// The answer to a question (src/page/what_if.hpp), valid until the next call.
extern "C" const char* raceline_what_if(const char* question) {
    static std::string answer;
    answer = raceline::what_if(question);
    return answer.c_str();
}
