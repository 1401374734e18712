// SPDX-License-Identifier: Apache-2.0
// What pieces of C in pages use without saying where it comes from, as page_names.hpp does for C++.
#include <raceline/raceline.h>
#include <stdint.h>
#include <stdlib.h>

extern int our_call, their_call;
