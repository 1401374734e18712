# SPDX-License-Identifier: Apache-2.0
# IN -> OUT: what the host compiler cannot read in a device file, spelled as calls it can.
file(READ "${IN}" text)
string(REPLACE ">>>(" "@(" text "${text}")
string(REGEX REPLACE "([a-z_]+(<[^<>;]*>)?)<<<([^@]*)@\\(" "raceline::test::enqueue(\\1, \\3)("
       text "${text}")
string(REGEX REPLACE "extern __shared__ (__align__\\([0-9]+\\) )?([A-Za-z0-9_]+) ([a-z_]+)\\[\\];"
       "auto* \\3 = raceline::test::dynamic_shared<\\2>();" text "${text}")
file(WRITE "${OUT}" "${text}")
