#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# FlashAttention-3 as a peer: it has no wheel and is built from source where it is asked.
#
#   tools/peer_fa3.sh pack FLASH_ATTENTION CUTLASS ARCHIVE    from two git repositories, some 1.2 MB
#   tools/peer_fa3.sh build ARCHIVE FOLDER                    there: PyTorch, nvcc; two minutes of 16 cores
#
# Forward in bf16 and e4m3, head dims 64, 128 and 256. `PYTHONPATH=FOLDER/fa3/hopper` then has it for
# bench/compare.py. What is packed keeps its licence and never enters this project.
set -eu
command=${1:-}
case $command in
    pack)
        : "${4:?"usage: tools/peer_fa3.sh pack FLASH_ATTENTION CUTLASS ARCHIVE"}"
        work=$(mktemp -d)
        mkdir -p "$work/fa3/csrc/cutlass"
        git -C "$2" archive HEAD hopper README.md LICENSE AUTHORS | tar x -C "$work/fa3"
        git -C "$3" archive HEAD include | tar x -C "$work/fa3/csrc/cutlass"
        rm -f "$work"/fa3/hopper/test_*
        git -C "$2" rev-parse --short=12 HEAD >"$work/fa3/hopper/COMMIT"
        tar cJf "$4" -C "$work" fa3
        rm -rf "$work"
        ls -l "$4"
        ;;
    build)
        folder=${3:?"usage: tools/peer_fa3.sh build ARCHIVE FOLDER"}
        mkdir -p "$folder"
        tar xJf "$2" -C "$folder"
        cd "$folder/fa3/hopper"
        for part in BACKWARD SPLIT PAGEDKV APPENDKV LOCAL SOFTCAP PACKGQA FP16 HDIM96 HDIM192 SM80 \
            HDIMDIFF64 HDIMDIFF192; do
            export "FLASH_ATTENTION_DISABLE_$part=TRUE"
        done
        FLASH_ATTENTION_FORCE_BUILD=TRUE MAX_JOBS=${MAX_JOBS:-16} NVCC_THREADS=1 \
            "${PYTHON:-python3}" setup.py build_ext --inplace >build.log 2>&1 || {
            tail -n 30 build.log
            exit 1
        }
        PYTHONPATH=. "${PYTHON:-python3}" -c "import flash_attn_interface; print('flash_attn_interface imports')"
        ;;
    *)
        sed -n '3,12p' "$0"
        exit 2
        ;;
esac
