// SPDX-License-Identifier: Apache-2.0
// What rungs of prefill take: plain attention, and nothing beside it.
#include <gtest/gtest.h>

#include "device/catalog.hpp"
#include "ladder/tracks/record.hpp"
#include "workload/shape_grammar.hpp"

namespace raceline::kernels::tracks {
namespace {

TEST(PlainShapes, are_what_every_feature_leaves) {
    const Device h200 = datasheet_device("h200");
    EXPECT_EQ(beyond_floats(parse_shape("b=2,h=3,q=37,k=70,d=64,dtype=fp16,causal"), h200), "");
    for (const char* shape :
         {"b=1,h=4/2,q=3,k=7,d=64", "b=1,h=1,q=3,k=7,d=64/32", "b=1,h=1,q=3,k=7,d=64,sinks",
          "b=1,h=1,q=3,k=7,d=64,window=2", "b=1,h=1,q=3,k=7,d=64,softcap=2",
          "b=1,h=1,q=3,k=7,d=64,page=16", "b=2,h=1,q=3,k=7;8,d=64", "b=1,h=1,q=1,k=7,mla=512+64",
          "b=1,h=1,q=3,k=7,d=256"}) {
        EXPECT_NE(beyond_floats(parse_shape(shape, DType::fp16), h200), "") << shape;
    }
}

}  // namespace
}  // namespace raceline::kernels::tracks
