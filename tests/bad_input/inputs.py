# SPDX-License-Identifier: Apache-2.0
"""Strategies that several interfaces share: numbers, texts, shapes, broken files."""

from __future__ import annotations

import gzip

from hypothesis import strategies as st

#: What people and programs write where a number belongs. Nothing large that is accepted: kernels would
#: run for minutes, and so long takes the prediction of 2^31 - 1 queries, the most.
NUMBERS = ["-1", "0", "1", "2", "3", "17", "64", "2147483648", "9223372036854775808",
           "18446744073709551616", "1e3", "0x10", "010", "1.5", "+1", "nan", "inf", "-inf", "", " 1",
           "1 ", "½", "١", "1;2", "1/", "/1", "3:-1", "inf:0"]
FIELDS = ["b", "h", "q", "k", "d", "mla", "dtype", "kv", "causal", "full", "window", "softcap", "sinks",
          "scale", "page", "accuracy", "op", "pass", "H", "batch", "heads", "HEADDIM", "type", "dtpye", ""]
GOOD_SHAPES = ["b=1,h=2,q=3,k=5,d=8,dtype=fp32", "h=4/2,q=1,k=17,d=16,causal", "h=2,k=4;3,d=8",
               "b=2,h=2,q=1,k=33,d=16,page=16,dtype=fp32", "h=2,q=2,k=9,d=8,window=2:0,softcap=5,sinks",
               "h=2,q=1,k=9,mla=16+8,dtype=fp32", "op=attention,h=1,k=3,d=8",
               "h=2,q=0,k=5,d=8,dtype=fp32", "h=2,q=3,k=0,d=8,dtype=fp32", "b=2,h=2,q=0,k=0,d=8,dtype=fp32"]
DEVICES = ["cpu", "CPU", "h200", "a100", "H200", "RTX 4090", "mi300x", "cuda", "b200", "", "cpu ", "replay:",
           "nowhere"]
KERNELS = ["cpu_flash", "CPU-Flash", "simt", "prefill_sm90", "gqa", "cpu_flsh", ""]
DTYPES = ["fp32", "fp16", "bf16", "e4m3", "nvfp4", "float32", "FP32", "half", "fp8", "fp33", ""]

numbers = st.sampled_from(NUMBERS)
#: Without the null character, which no argument of a process and no text of C can hold.
texts = st.one_of(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12),
    st.sampled_from(["\n", "\x1b[2J", "{}", "%s%n", "'", '"', "../..", "--", "-", "日本", "\u202e",
                     "x" * 5000, "é" * 40]),
)


@st.composite
def shapes(draw: st.DrawFn) -> str:
    """A shape that is right, or has up to two things wrong."""
    fields = draw(st.sampled_from(GOOD_SHAPES)).split(",")
    for _ in range(draw(st.integers(0, 2))):
        at = draw(st.integers(0, len(fields) - 1))
        name = fields[at].partition("=")[0]
        fields[at] = draw(
            st.one_of(
                numbers.map(lambda value, name=name: f"{name}={value}"),
                st.builds(lambda field, value: f"{field}={value}", st.sampled_from(FIELDS), numbers),
                st.sampled_from(FIELDS),
                st.sampled_from(DTYPES).map(lambda dtype: f"dtype={dtype}"),
                texts,
            )
        )
    return ",".join(fields)


@st.composite
def broken(draw: st.DrawFn, whole: list[bytes]) -> bytes:
    """One of the files with up to three things wrong, or something else."""
    # The first is the simplest: what a failure shrinks to if the file does not matter.
    nothing = [b"", b"\n\n", b"\0" * 99, b"{}\n", b"[" * 9999 + b"\n"]
    content = draw(st.sampled_from(nothing + 2 * whole))
    for _ in range(draw(st.integers(0, 3))):
        # Shares, not places: a receipt has other lengths in another run, and a seed must draw the same.
        share = draw(st.integers(0, 999))
        at = len(content) * share // 999
        lines = content.splitlines(keepends=True)
        line = len(lines) * share // 1000
        content = draw(
            st.sampled_from([
                content[:at],  # cut
                content[at:],
                content[:at] + b"\0" + content[at:],
                content[:at] + b"\xff\xfe" + content[at:],
                content[:at] + b"9" * 400 + content[at:],
                content[:at] + content[at + 1 :],
                b"".join(lines[:line] + lines[line + 1 :]),  # a line is missing
                b"".join(lines[line:] + lines[:line]),  # lines in another order
                b"".join(lines[: line + 1] * 2),  # twice
                content + draw(st.sampled_from(whole)),  # two files in one
                content.replace(b"\n", b"\r\n"),
                content.replace(b":", b":-", 1 + line),
                content.replace(b'"seconds', b'"secunds', 1 + line),
                gzip.compress(content, mtime=0),  # whole, broken or twice, and cut by what comes next
            ])
        )
    return content
