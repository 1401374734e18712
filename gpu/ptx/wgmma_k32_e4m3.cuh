// SPDX-License-Identifier: Apache-2.0
// Warpgroup matrix products of e4m3 operands, d = a·b or d += a·b if `accumulate`: 64 × n, k 32,
// fp32 accumulators of which the tensor core keeps fewer bits (Rounding::e4m3_sum), n = twice the
// extent of `d`, a multiple of 32 up to 256 (sm_90a). B from shared memory, K-major: there is no
// other for 8-bit types. Executed by four warps that start at a multiple of four. Asynchronous:
// wgmma_fence before the first, then wgmma_commit_group and wgmma_wait_group before `d` is read or
// an operand overwritten.
//
// Accumulators as in wgmma_k16.cuh. A in registers (PTX ISA, "wgmma register fragment A", k32):
// byte i of word w is row lane/4 + 8·(w%2), column 4·(lane%4) + 16·(w/2) + i.
#pragma once

#include <cstdint>

namespace raceline::ptx {

// clang-format off
#define RACELINE_PLACES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define RACELINE_PLACES_32 RACELINE_PLACES_16 ", %16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define RACELINE_PLACES_48 RACELINE_PLACES_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define RACELINE_PLACES_64 RACELINE_PLACES_48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define RACELINE_PLACES_80 RACELINE_PLACES_64 ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"
#define RACELINE_PLACES_96 RACELINE_PLACES_80 ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
#define RACELINE_PLACES_112 RACELINE_PLACES_96 ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111"
#define RACELINE_PLACES_128 RACELINE_PLACES_112 ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define RACELINE_OPERANDS_16 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]), \
    "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define RACELINE_OPERANDS_32 RACELINE_OPERANDS_16, \
    "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), \
    "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define RACELINE_OPERANDS_48 RACELINE_OPERANDS_32, \
    "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), \
    "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define RACELINE_OPERANDS_64 RACELINE_OPERANDS_48, \
    "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), \
    "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define RACELINE_OPERANDS_80 RACELINE_OPERANDS_64, \
    "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71]), \
    "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define RACELINE_OPERANDS_96 RACELINE_OPERANDS_80, \
    "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87]), \
    "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define RACELINE_OPERANDS_112 RACELINE_OPERANDS_96, \
    "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103]), \
    "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define RACELINE_OPERANDS_128 RACELINE_OPERANDS_112, \
    "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119]), \
    "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])

// N is n, A its half, the rest the numbers of the operands after the accumulators.
#define RACELINE_WGMMA(N, A, A1, A2, A3, A4, A5)                                                  \
    __device__ __forceinline__ void wgmma_k32_e4m3_ss(float (&d)[A], std::uint64_t a,             \
                                                      std::uint64_t b, bool accumulate) {         \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #A2 ", 0;\n"                            \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k32.f32.e4m3.e4m3"                    \
                     " {" RACELINE_PLACES_##A "}, %" #A ", %" #A1 ", p, 1, 1;\n}"                 \
                     : RACELINE_OPERANDS_##A                                                      \
                     : "l"(a), "l"(b), "r"(static_cast<int>(accumulate)));                        \
    }                                                                                             \
    __device__ __forceinline__ void wgmma_k32_e4m3_rs(                                            \
        float (&d)[A], const std::uint32_t (&a)[4], std::uint64_t b, bool accumulate) {           \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #A5 ", 0;\n"                            \
                     "wgmma.mma_async.sync.aligned.m64n" #N "k32.f32.e4m3.e4m3"                    \
                     " {" RACELINE_PLACES_##A "}, {%" #A ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #A4  \
                     ", p, 1, 1;\n}"                                                              \
                     : RACELINE_OPERANDS_##A                                                      \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b),                        \
                       "r"(static_cast<int>(accumulate)));                                        \
    }

RACELINE_WGMMA(32, 16, 17, 18, 19, 20, 21)
RACELINE_WGMMA(64, 32, 33, 34, 35, 36, 37)
RACELINE_WGMMA(96, 48, 49, 50, 51, 52, 53)
RACELINE_WGMMA(128, 64, 65, 66, 67, 68, 69)
RACELINE_WGMMA(160, 80, 81, 82, 83, 84, 85)
RACELINE_WGMMA(192, 96, 97, 98, 99, 100, 101)
RACELINE_WGMMA(224, 112, 113, 114, 115, 116, 117)
RACELINE_WGMMA(256, 128, 129, 130, 131, 132, 133)

#undef RACELINE_WGMMA
#undef RACELINE_PLACES_16
#undef RACELINE_OPERANDS_16
#undef RACELINE_PLACES_32
#undef RACELINE_OPERANDS_32
#undef RACELINE_PLACES_48
#undef RACELINE_OPERANDS_48
#undef RACELINE_PLACES_64
#undef RACELINE_OPERANDS_64
#undef RACELINE_PLACES_80
#undef RACELINE_OPERANDS_80
#undef RACELINE_PLACES_96
#undef RACELINE_OPERANDS_96
#undef RACELINE_PLACES_112
#undef RACELINE_OPERANDS_112
#undef RACELINE_PLACES_128
#undef RACELINE_OPERANDS_128
// clang-format on

}  // namespace raceline::ptx
