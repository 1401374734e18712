# SPDX-License-Identifier: Apache-2.0
# tools/layering.cmake refuses what it should: copies the tree, adds includes and imports that are
# forbidden and some that are not, and expects exactly the forbidden ones to be named.
# Run: cmake -DSOURCE=DIR -DWORK=DIR -P tests/tools/layering.cmake
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/python)
foreach(tree src operations kernels ladder cpu gpu apps page bench tools include)
  file(COPY ${SOURCE}/${tree} DESTINATION ${WORK})
endforeach()
file(COPY ${SOURCE}/python/src ${SOURCE}/python/raceline DESTINATION ${WORK}/python)

set(expected)
macro(allow file line)
  if(NOT EXISTS ${WORK}/${file})
    message(FATAL_ERROR "${file} is gone: say it of another file of its folder")
  endif()
  file(APPEND ${WORK}/${file} "\n${line}\n")
endmacro()
macro(forbid file line complaint)
  allow(${file} "${line}")
  list(APPEND expected "${file} ${complaint}: ")
endmacro()

# src, kernels, ladder
forbid(src/device/device.cpp "#include \"probe/probes.hpp\"" "includes probe/probes.hpp")
forbid(src/device/device.hpp "#include \"gpu/ptx/bar.cuh\"" "includes gpu/ptx/bar.cuh")
forbid(src/run/gate.cpp "#include \"kernels/simt/tile.hpp\"" "includes kernels/simt/tile.hpp")
forbid(src/support/json.cpp "#include <model/counts.hpp>" "includes model/counts.hpp")
forbid(kernels/cpu_flash/cpu_flash.cpp "#include \"kernels/simt/tile.hpp\""
       "includes kernels/simt/tile.hpp")
forbid(kernels/simt/simt.cpp "#include \"run/gate.hpp\"" "includes run/gate.hpp")
forbid(cpu/simd/elements-inl.hpp "#include \"run/gate.hpp\"" "includes run/gate.hpp")
forbid(ladder/prefill/online/online.cpp "#include \"ladder/decode/gqa/gqa.hpp\""
       "includes ladder/decode/gqa/gqa.hpp")
forbid(ladder/decode/gqa/gqa.cpp "#include \"kernels/simt/tile.hpp\""
       "includes kernels/simt/tile.hpp")
allow(ladder/prefill/online/online.cpp "#include \"ladder/prefill/naive/softmax.hpp\"")
allow(src/probe/cpu.cpp "#include \"gpu/ptx/bar.cuh\"")
allow(kernels/simt/simt.cpp "#include \"gpu/tile/schedule.hpp\"")
allow(src/schedule/plan.hpp "#include \"gpu/tile/schedule.hpp\"")
forbid(src/model/counts.hpp "#include \"gpu/tile/schedule.hpp\"" "includes gpu/tile/schedule.hpp")
forbid(operations/attention/attention.cpp "#include \"run/gate.hpp\"" "includes run/gate.hpp")
forbid(kernels/simt/simt.cpp "#include \"operations/attention/attention.hpp\""
       "includes operations/attention/attention.hpp")
allow(operations/attention/attention.cpp "#include \"workload/oracle.hpp\"")
# What hides where it goes: without a folder, or by a macro. Lists that a build writes have none.
forbid(src/run/gate.cpp "#include \"counts.hpp\"" "includes counts.hpp")
forbid(kernels/simt/simt.cpp "  #  include \"gate.hpp\"" "includes gate.hpp")
forbid(src/workload/oracle.cpp "#include \"embedded.inc\"" "includes embedded.inc")
forbid(src/support/json.cpp "#define HEADER \"run/gate.hpp\"\n#include HEADER" "includes what a macro says")
forbid(gpu/tile/chunk.cuh "#  include HEADER_OF(model)" "includes what a macro says")
allow(kernels/simt/simt.cpp "#include \"plan.hpp\"")
allow(src/run/gate.cpp "#include \"kernels.inc\"")
# page
forbid(page/model/module.cpp "#include \"kernels/simt/tile.hpp\"" "includes kernels/simt/tile.hpp")
forbid(page/model/host_cpu.cpp "#include \"apps/raceline/options.hpp\""
       "includes apps/raceline/options.hpp")
allow(page/model/host_cpu.cpp "#include \"kernels/cpu_flash/tile.hpp\"")
# gpu
forbid(gpu/ptx/bar.cuh "#include \"workload/workload.hpp\"" "includes workload/workload.hpp")
forbid(gpu/tile/tanh.cuh "#  include \"model/counts.hpp\"" "includes model/counts.hpp")
forbid(gpu/tile/schedule.hpp "#include \"src/model/counts.hpp\"" "includes src/model/counts.hpp")
forbid(gpu/tile/work_tile.cuh "#include \"gpu/tile/../../src/model/counts.hpp\""
       "includes gpu/tile/../../src/model/counts.hpp")
allow(gpu/tile/schedule.hpp "#include \"gpu/ptx/bar.cuh\"")
# apps
forbid(apps/raceline/main.cpp "#include \"kernels/simt/tile.hpp\"" "includes kernels/simt/tile.hpp")
forbid(apps/raceline/main.cpp "#include \"gpu/tile/schedule.hpp\"" "includes gpu/tile/schedule.hpp")
forbid(apps/raceline/terminal.hpp "#include <cuda_runtime.h>" "includes cuda_runtime.h")
allow(apps/raceline/main.cpp "#include \"probe/probes.hpp\"")
# python
forbid(python/src/tensor.cpp "#include \"registry/registry.hpp\"" "includes registry/registry.hpp")
forbid(python/raceline/torch.py "from ._attention import attention" "imports ._attention")
forbid(python/raceline/_call.py "    from . import (_table,\n  torch as other)" "imports .torch")
forbid(python/raceline/_tensors.py "import raceline.torch" "imports raceline.torch")
forbid(python/raceline/_devices.py "import json; import c_library" "imports c_library")
forbid(python/raceline/_table.py "torch = importlib.import_module('raceline.torch')" "imports raceline.torch")
forbid(python/raceline/_tensors.py "call = importlib.import_module(\n    \".torch\", __package__)" "imports .torch")
forbid(python/raceline/_devices.py "core = __import__(\"raceline._page\")" "imports raceline._page")
allow(python/raceline/_devices.py "importlib.import_module(\"raceline._call\")\nnumpy = __import__('numpy')")
allow(python/raceline/_predict.py "from . import _call, _tensors as others\nimport torch")
# bench
forbid(bench/ratios.py "import os, raceline" "imports raceline")
forbid(bench/compare.py "if True: from raceline.torch import attention" "imports raceline.torch")
forbid(bench/tests/stand_in_gpu.py "import figures" "imports figures")
forbid(bench/errors.py "importlib.import_module( 'raceline' )" "imports raceline")
allow(bench/ratios.py "import torch\nfrom c_library import Library  # else: import raceline")
# A place without a row.
file(WRITE ${WORK}/src/attic/old.cpp "")
list(APPEND expected "src/attic/old.cpp: src/attic has no row")

execute_process(COMMAND ${CMAKE_COMMAND} -DSOURCE=${WORK} -P ${SOURCE}/tools/layering.cmake
                RESULT_VARIABLE rc OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(rc EQUAL 0)
  message(FATAL_ERROR "nothing was refused:\n${out}${err}")
endif()
foreach(sentence ${expected})
  string(FIND "\n${err}" "\n${sentence}" at)
  if(at EQUAL -1)
    message(SEND_ERROR "not refused: ${sentence}")
  endif()
endforeach()
list(LENGTH expected count)
if(NOT err MATCHES "layering: ${count} lines break")
  message(SEND_ERROR "other lines were refused than the ${count} forbidden ones:\n${err}")
endif()
file(REMOVE_RECURSE ${WORK})
