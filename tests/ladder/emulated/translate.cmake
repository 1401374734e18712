# SPDX-License-Identifier: Apache-2.0
# IN -> OUT: what the host compiler cannot read in a rung's device file, spelled as what it can. A
# rung's dynamic shared memory is `extern __shared__ float4 dynamic_shared[];`.
file(READ "${IN}" text)
string(REPLACE ">>>(" "@(" text "${text}")
string(REGEX REPLACE "([a-z_]+(<[^<>;]*>)?)<<<([^@]*)@\\(" "raceline::test::enqueue(\\1, \\3)("
       text "${text}")
string(REPLACE "extern __shared__ float4 dynamic_shared[]" "using ::raceline::test::dynamic_shared"
       text "${text}")
file(WRITE "${OUT}" "${text}")
