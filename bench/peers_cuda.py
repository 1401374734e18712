# SPDX-License-Identifier: Apache-2.0
"""The attention libraries that a user of an NVIDIA GPU would pick instead, each asked in the form
that it is fastest in: its own layout, its own grouping of heads, nothing copied or expanded.

A peer has a name and a version, says what it cannot be asked for, and binds a problem to a call of
an index of inputs; `context` is entered around its calls, never in a timed region."""

import contextlib
import importlib
import importlib.metadata
import pathlib

import torch
import torch.nn.functional as F


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def only_16_bits(problem):
    return "" if problem.dtype in ("fp16", "bf16") else f"it has no {problem.dtype} here"


class TorchBackend:
    """scaled_dot_product_attention with one of its backends forced."""

    def __init__(self, name, backend, version):
        self.name = self.label = name
        self.version = version
        self.backend = f"torch.nn.attention {backend}"
        attention = importlib.import_module("torch.nn.attention")
        self._forced = getattr(attention.SDPBackend, backend)
        self._kernel = attention.sdpa_kernel

    def context(self):
        return self._kernel(self._forced)

    def refusal(self, problem):
        if problem.masked and problem.seqlen_q != problem.seqlen_k:
            return "its causal mask aligns top-left where the lengths differ"
        return only_16_bits(problem)

    def bind(self, problem, sets):
        options = {"is_causal": problem.masked}
        if problem.group > 1:
            options["enable_gqa"] = True

        def call(i):
            x = sets[i]
            out = F.scaled_dot_product_attention(x.q_t, x.k_t, x.v_t, **options)
            return out.transpose(1, 2)
        return call


class FlashAttentionFunction:
    """flash_attn_func of one of FlashAttention's modules, as `_attention`."""

    def context(self):
        return contextlib.nullcontext()

    def bind(self, problem, sets):
        attention, causal = self._attention, problem.causal

        def call(i):
            x = sets[i]
            out = attention(x.q, x.k, x.v, causal=causal)
            return out[0] if isinstance(out, tuple) else out
        return call


class FlashAttention3(FlashAttentionFunction):
    """FlashAttention for Hopper, built from source (tools/peer_fa3.sh), in 16 bits and e4m3."""

    name = label = "fa3"
    backend = "hopper flash_attn_interface.flash_attn_func"

    def __init__(self):
        module = importlib.import_module("flash_attn_interface")
        self._attention = module.flash_attn_func
        commit = pathlib.Path(module.__file__).with_name("COMMIT")
        self.version = commit.read_text().strip() if commit.exists() else version_of("flash_attn_3")

    def refusal(self, problem):
        if problem.dtype == "e4m3":
            return ""
        return "" if problem.dtype == "bf16" else f"it was built without {problem.dtype}"


class FlashAttention4(FlashAttentionFunction):
    """FlashAttention in the CuTe DSL, compiled for each head dim and mask at its first call."""

    name = label = "fa4"
    backend = "flash_attn.cute flash_attn_func"

    def __init__(self):
        self._attention = importlib.import_module("flash_attn.cute").flash_attn_func
        self.version = version_of("flash-attn-4")

    def refusal(self, problem):
        return only_16_bits(problem)


class FlashInferModule:
    """What all calls of FlashInfer share: its module, and one workspace, zero at first; on one stream
    calls never overlap."""

    workspace_bytes = 256 << 20

    def __init__(self):
        self._module = importlib.import_module("flashinfer")
        self.version = version_of("flashinfer-python")
        self._workspace = None

    def context(self):
        return contextlib.nullcontext()

    def refusal(self, problem):
        return only_16_bits(problem)

    def workspace(self, device):
        if self._workspace is None:
            self._workspace = torch.zeros(self.workspace_bytes, dtype=torch.uint8, device=device)
        return self._workspace


class FlashInfer(FlashInferModule):
    """FlashInfer's ragged prefill on Hopper's matrix units, planned once a problem (untimed)."""

    name = label = "flashinfer"
    backend = "BatchPrefillWithRaggedKVCacheWrapper fa3"

    def bind(self, problem, sets):
        p, device = problem, sets[0].q.device
        wrapper = self._module.BatchPrefillWithRaggedKVCacheWrapper(self.workspace(device), "NHD",
                                                                    backend="fa3")
        starts = torch.arange(p.batch + 1, dtype=torch.int32, device=device)
        wrapper.plan(starts * p.seqlen_q, starts * p.seqlen_k, p.heads_q, p.heads_kv, p.headdim,
                     head_dim_vo=p.headdim_v, causal=p.causal, q_data_type=sets[0].q.dtype,
                     kv_data_type=sets[0].k.dtype)
        packed = [[t.flatten(0, 1) for t in (x.q, x.k, x.v)] for x in sets]

        def call(i):
            return wrapper.run(*packed[i]).unflatten(0, (p.batch, p.seqlen_q))
        return call


def cudnn():
    version = torch.backends.cudnn.version()
    if not version:
        raise ImportError("this PyTorch has no cuDNN")
    return TorchBackend("cudnn", "CUDNN_ATTENTION", f"{version} in PyTorch {torch.__version__}")


def fa2():
    return TorchBackend("fa2", "FLASH_ATTENTION", f"PyTorch {torch.__version__}")


def decode_peer(name):
    def opened():
        return importlib.import_module("peers_decode").DECODE_PEERS[name]()
    return opened


PEERS = {"cudnn": cudnn, "fa2": fa2, "fa3": FlashAttention3, "fa4": FlashAttention4,
         "flashinfer": FlashInfer,
         **{name: decode_peer(name) for name in ("flashinfer_decode", "xqa")}}


def open_peers(names):
    """([peer], [(name, why it is left out)]). A peer that cannot be imported, for whatever reason,
    must not cost the others their run."""
    found, missing = [], []
    for name in names:
        try:
            found.append(PEERS[name]())
        except Exception as error:  # noqa: BLE001 - whatever an import raises
            missing.append((name, f"{type(error).__name__}: {error}".splitlines()[0]))
    return found, missing
