# SPDX-License-Identifier: Apache-2.0
# Installs headers, libraries and the CMake package raceline.
