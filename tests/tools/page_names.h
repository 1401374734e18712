// SPDX-License-Identifier: Apache-2.0
// What pieces of C in pages use without saying where it comes from, as page_names.hpp does for C++.
#include <raceline/raceline.h>
#include <stdint.h>
#include <stdlib.h>

extern int our_call, their_call;
extern void *x, *weight, *y, *x_host, *weight_host, *y_host, *stream, *scratch;
extern size_t scratch_bytes;
