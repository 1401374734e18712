# SPDX-License-Identifier: Apache-2.0
# The comments of raceline.h, whose readers may have no Doxygen, as Doxygen wants them: the first one
# is the file's, one behind a member is that member's, any other belongs to what follows. A heading
# between parts of the file belongs to none.
s|/\* ---- .* ---- \*/||
1s|^/\* SPDX-License-Identifier: [^ ]*|/** @file|
2,$s|([^[:space:]].*)/\* |\1/**< |
t
2,$s|/\* |/** |
