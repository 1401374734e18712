# SPDX-License-Identifier: Apache-2.0
# IN -> OUT: what the host compiler cannot read in a device file, spelled as calls it can.
file(READ "${IN}" text)
string(REPLACE ">>>(" "@(" text "${text}")
string(REGEX REPLACE "([a-z_]+(<T>)?)<<<([^@]*)@\\(" "raceline::test::enqueue(\\1, \\3)(" text "${text}")
string(REPLACE "extern __shared__" "extern" text "${text}")
file(WRITE "${OUT}" "${text}")
