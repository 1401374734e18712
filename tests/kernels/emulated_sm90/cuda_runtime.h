// SPDX-License-Identifier: Apache-2.0
// Found before the toolkit's: the machine header, included ahead of everything, stands in for it.
#pragma once
