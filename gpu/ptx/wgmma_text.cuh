// SPDX-License-Identifier: Apache-2.0
// What the wrappers of wgmma are written with: the accumulators' places in an instruction's text
// and the operands that stand there, for every extent of `d`; and a wrapper's own definition.
#pragma once

#include <cstdint>

// clang-format off
#define RACELINE_PLACES_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define RACELINE_PLACES_16 RACELINE_PLACES_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define RACELINE_PLACES_24 RACELINE_PLACES_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define RACELINE_PLACES_32 RACELINE_PLACES_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define RACELINE_PLACES_40 RACELINE_PLACES_32 ", %32, %33, %34, %35, %36, %37, %38, %39"
#define RACELINE_PLACES_48 RACELINE_PLACES_40 ", %40, %41, %42, %43, %44, %45, %46, %47"
#define RACELINE_PLACES_56 RACELINE_PLACES_48 ", %48, %49, %50, %51, %52, %53, %54, %55"
#define RACELINE_PLACES_64 RACELINE_PLACES_56 ", %56, %57, %58, %59, %60, %61, %62, %63"
#define RACELINE_PLACES_72 RACELINE_PLACES_64 ", %64, %65, %66, %67, %68, %69, %70, %71"
#define RACELINE_PLACES_80 RACELINE_PLACES_72 ", %72, %73, %74, %75, %76, %77, %78, %79"
#define RACELINE_PLACES_88 RACELINE_PLACES_80 ", %80, %81, %82, %83, %84, %85, %86, %87"
#define RACELINE_PLACES_96 RACELINE_PLACES_88 ", %88, %89, %90, %91, %92, %93, %94, %95"
#define RACELINE_PLACES_104 RACELINE_PLACES_96 ", %96, %97, %98, %99, %100, %101, %102, %103"
#define RACELINE_PLACES_112 RACELINE_PLACES_104 ", %104, %105, %106, %107, %108, %109, %110, %111"
#define RACELINE_PLACES_120 RACELINE_PLACES_112 ", %112, %113, %114, %115, %116, %117, %118, %119"
#define RACELINE_PLACES_128 RACELINE_PLACES_120 ", %120, %121, %122, %123, %124, %125, %126, %127"
#define RACELINE_OPERANDS_8 "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
#define RACELINE_OPERANDS_16 RACELINE_OPERANDS_8, \
    "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
#define RACELINE_OPERANDS_24 RACELINE_OPERANDS_16, \
    "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23])
#define RACELINE_OPERANDS_32 RACELINE_OPERANDS_24, \
    "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
#define RACELINE_OPERANDS_40 RACELINE_OPERANDS_32, \
    "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39])
#define RACELINE_OPERANDS_48 RACELINE_OPERANDS_40, \
    "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47])
#define RACELINE_OPERANDS_56 RACELINE_OPERANDS_48, \
    "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55])
#define RACELINE_OPERANDS_64 RACELINE_OPERANDS_56, \
    "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
#define RACELINE_OPERANDS_72 RACELINE_OPERANDS_64, \
    "+f"(d[64]), "+f"(d[65]), "+f"(d[66]), "+f"(d[67]), "+f"(d[68]), "+f"(d[69]), "+f"(d[70]), "+f"(d[71])
#define RACELINE_OPERANDS_80 RACELINE_OPERANDS_72, \
    "+f"(d[72]), "+f"(d[73]), "+f"(d[74]), "+f"(d[75]), "+f"(d[76]), "+f"(d[77]), "+f"(d[78]), "+f"(d[79])
#define RACELINE_OPERANDS_88 RACELINE_OPERANDS_80, \
    "+f"(d[80]), "+f"(d[81]), "+f"(d[82]), "+f"(d[83]), "+f"(d[84]), "+f"(d[85]), "+f"(d[86]), "+f"(d[87])
#define RACELINE_OPERANDS_96 RACELINE_OPERANDS_88, \
    "+f"(d[88]), "+f"(d[89]), "+f"(d[90]), "+f"(d[91]), "+f"(d[92]), "+f"(d[93]), "+f"(d[94]), "+f"(d[95])
#define RACELINE_OPERANDS_104 RACELINE_OPERANDS_96, \
    "+f"(d[96]), "+f"(d[97]), "+f"(d[98]), "+f"(d[99]), "+f"(d[100]), "+f"(d[101]), "+f"(d[102]), "+f"(d[103])
#define RACELINE_OPERANDS_112 RACELINE_OPERANDS_104, \
    "+f"(d[104]), "+f"(d[105]), "+f"(d[106]), "+f"(d[107]), "+f"(d[108]), "+f"(d[109]), "+f"(d[110]), "+f"(d[111])
#define RACELINE_OPERANDS_120 RACELINE_OPERANDS_112, \
    "+f"(d[112]), "+f"(d[113]), "+f"(d[114]), "+f"(d[115]), "+f"(d[116]), "+f"(d[117]), "+f"(d[118]), "+f"(d[119])
#define RACELINE_OPERANDS_128 RACELINE_OPERANDS_120, \
    "+f"(d[120]), "+f"(d[121]), "+f"(d[122]), "+f"(d[123]), "+f"(d[124]), "+f"(d[125]), "+f"(d[126]), "+f"(d[127])

// NAME is the wrapper's, SHAPE what the instruction is called behind its modifiers, MODES what stands
// behind the signs of both operands. A is the extent of `d`, the rest are the numbers of the operands
// behind the accumulators. A from shared memory (SS) or registers (RS), B from shared memory.
#define RACELINE_WGMMA_SS(NAME, SHAPE, MODES, A, A1, A2) \
    __device__ __forceinline__ void NAME(float (&d)[A], std::uint64_t a, std::uint64_t b, bool accumulate) { \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #A2 ", 0;\nwgmma.mma_async.sync.aligned." SHAPE " {" RACELINE_PLACES_##A "}, %" #A ", %" #A1 ", p, 1, 1" MODES ";\n}" \
                     : RACELINE_OPERANDS_##A : "l"(a), "l"(b), "r"(static_cast<int>(accumulate))); \
    }
#define RACELINE_WGMMA_RS(NAME, SHAPE, MODES, A, A1, A2, A3, A4, A5) \
    __device__ __forceinline__ void NAME(float (&d)[A], const std::uint32_t (&a)[4], std::uint64_t b, bool accumulate) { \
        asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %" #A5 ", 0;\nwgmma.mma_async.sync.aligned." SHAPE " {" RACELINE_PLACES_##A "}, {%" #A ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #A4 ", p, 1, 1" MODES ";\n}" \
                     : RACELINE_OPERANDS_##A : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(accumulate))); \
    }
// clang-format on
