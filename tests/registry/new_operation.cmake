# SPDX-License-Identifier: Apache-2.0
# Included by new_kernel.cmake, in its copy of the tree. Adding an operation touches one folder, and
# a kernel of it another: they are found in `kernels`, `predict`, `check`, `bench` and `report`, and
# wrong kernels and wrong shapes are refused in sentences.
set(raceline ${WORK}/build/raceline)

# Runs what must fail; its output in `out`.
function(run_refused)
  execute_process(COMMAND ${ARGN} WORKING_DIRECTORY ${WORK}/tree OUTPUT_VARIABLE out
                  ERROR_VARIABLE err RESULT_VARIABLE rc)
  if(rc EQUAL 0)
    message(FATAL_ERROR "${ARGN}: was not refused\n${out}\n${err}")
  endif()
  set(out "${out}${err}" PARENT_SCOPE)
endfunction()

# The shape is refused with the sentence (a regular expression).
function(refuse shape sentence)
  run_refused(${raceline} predict --device cpu --kernel scale_simple --shape ${shape})
  if(NOT out MATCHES "${sentence}")
    message(FATAL_ERROR "${shape}: expected '${sentence}' in:\n${out}")
  endif()
endfunction()

refuse(op=scale,n=1000 "kernel 'scale_simple' does not exist|operation 'scale' does not exist")
file(COPY ${CMAKE_CURRENT_LIST_DIR}/new_operation/operations ${CMAKE_CURRENT_LIST_DIR}/new_operation/kernels
     DESTINATION ${WORK}/tree)
# Newer than the wrong kernel of an earlier run of this test, whose object outlives it.
file(TOUCH ${WORK}/tree/operations/scale/scale.cpp ${WORK}/tree/kernels/scale_simple/scale_simple.cpp)
run(${CMAKE_COMMAND} --build ${WORK}/build --target raceline_cli)

run(${raceline} kernels)
expect("scale_simple +cpu +2 +a test's kernel \\[scale, forward\\]")
run(${raceline} predict -v --device cpu --shape op=scale,n=100000,dtype=fp32)
expect("op=scale,n=100000,dtype=fp32 +[a-z]+ .*\n +scale_simple")
run(${raceline} predict --device cpu --kernel cpu_flash --kernel scale_simple --shape op=scale,n=100000,dtype=fp32)
expect("cpu_flash: it computes attention, not scale")
run(${raceline} predict -v --device cpu --kernel cpu_flash --kernel scale_simple --shape ${shape})
expect("scale_simple: it computes scale, not attention")
set(scale op=scale,n=1000,a=0.3)
run(${raceline} check --device cpu --kernel scale_simple --shape ${scale} --shape ${scale},dtype=fp32
    --shape op=scale,n=1,dtype=fp32)
expect("op=scale,n=1000,a=0.3,dtype=bf16 +scale_simple +elements=64 .* pass")
expect("op=scale,n=1,dtype=fp32 +scale_simple +elements=1024 .* pass")
set(receipts ${WORK}/scale.jsonl)
file(REMOVE ${receipts})
run(${raceline} bench --device cpu --kernel scale_simple --shape ${scale} --receipts ${receipts})
expect("scale_simple.*pass")
file(READ ${receipts} rows)
if(NOT rows MATCHES "\"op\":\"scale\",\"pass\":\"forward\"" OR
   NOT rows MATCHES "\"workload\":{\"op\":\"scale\",\"dtype\":\"bf16\",\"extents\":{\"n\":1000},\"scalars\":{\"a\":0.3}}")
  message(FATAL_ERROR "the rows do not name the operation:\n${rows}")
endif()
run(${raceline} report --wide ${receipts})
expect("op=scale,n=1000,a=0.3,dtype=bf16 +scale_simple")
run(${raceline} report --check ${receipts})
run(${raceline} report --repredict ${receipts})
run(${raceline} bench --device replay:${receipts} --kernel scale_simple --shape ${scale})
expect("scale_simple.*pass")
string(REPLACE "\"op\":\"scale\",\"pass\"" "\"op\":\"gone\",\"pass\"" rows "${rows}")
file(WRITE ${WORK}/forged.jsonl "${rows}")
run_refused(${raceline} report --check ${WORK}/forged.jsonl)
if(NOT out MATCHES "op is \"gone\", but its workload's is \"scale\"")
  message(FATAL_ERROR "a row of two operations was not named:\n${out}")
endif()

refuse(op=scal,n=5 "operation 'scal' does not exist. did you mean 'scale'. there are: adam attention combine crossentropy embedding scale")
refuse(op=scale "shape field 'n' of op=scale is missing .elements.: give one such as n=1000")
refuse(op=scale,n=5,b=3 "shape field 'b' is unknown to op=scale. .*valid fields: n a dtype op pass")
refuse(op=scale,n=x "shape field 'n': 'x' is not a whole number")
refuse(op=scale,n=5,a=nan "shape field 'a': 'nan' is not a finite number")
refuse(op=scale,n=5,n=6 "shape field 'n' is given twice")
refuse(op=scale,n=0 "n is 0: it must be 1 or more")
refuse(op=scale,n=5,dtype=e4m3 "dtype is e4m3: scale takes fp32 or bf16")
refuse(op=scale,n=5,pass=backward "scale has no pass 'backward'. its only pass is forward")

# Wrong: the first tile by one part in a hundred, the second leaves the last element out.
set(kernel ${WORK}/tree/kernels/scale_simple/scale_simple.cpp)
file(READ ${kernel} source)
string(REPLACE "= args.scalars[0];" "= args.scalars[0] * (tile == 0 ? 1.01 : 1);" source "${source}")
string(REPLACE "std::min(n," "std::min(n - tile," source "${source}")
file(WRITE ${kernel} "${source}")
run(${CMAKE_COMMAND} --build ${WORK}/build --target raceline_cli)
run_refused(${raceline} check --device cpu --kernel scale_simple --shape ${scale})
foreach(sentence "elements=64 op=scale.*plain inputs: output 'y': relative RMS error .* exceeds"
                 "elements=1024 .*: element 999 of row 0 of 'y' was never written, or is NaN"
                 "2 cases checked, 2 failed"
                 "again: raceline check .* --shape 'op=scale,n=1000,a=0.3,dtype=bf16'")
  if(NOT out MATCHES "${sentence}")
    message(FATAL_ERROR "a wrong kernel: expected '${sentence}' in:\n${out}")
  endif()
endforeach()
message("two folders, and an operation is read, predicted, proven and measured; what is wrong is refused")
