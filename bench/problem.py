# SPDX-License-Identifier: Apache-2.0
"""One attention problem that raceline and its peers can all be asked for."""

from dataclasses import dataclass

# Members of a workload that no peer here is asked for, with the value that means "not wanted".
PLAIN = {"window": None, "softcap": 0, "sinks": False, "page_size": 0}


@dataclass(frozen=True)
class Problem:
    """Sizes as in a receipt's workload. Tensors are (batch, seqlen, heads, headdim)."""

    text: str
    batch: int
    heads_q: int
    heads_kv: int
    seqlen_q: int
    seqlen_k: int
    headdim: int
    headdim_v: int
    dtype: str
    causal: bool

    @classmethod
    def of(cls, text, workload):
        """From a shape's text and the workload that the library read in it. Raises ValueError with
        the reason if it asks for something that is not compared."""
        for member, plain in PLAIN.items():
            if workload[member] != plain:
                raise ValueError(f"{member} is {workload[member]}; only plain prefill and decode "
                                 "over contiguous caches are compared")
        for member in ("seqlens_q", "seqlens_k", "mla", "scale"):
            if workload.get(member):
                raise ValueError(f"{member} is set; only plain prefill and decode over contiguous "
                                 "caches are compared")
        if workload["kv_dtype"] != workload["dtype"]:
            raise ValueError("kv_dtype is not dtype; only caches of the query's type are compared")
        return cls(text=text, causal=workload["mask"] == "causal",
                   **{name: workload[name] for name in
                      ("batch", "heads_q", "heads_kv", "seqlen_q", "seqlen_k", "headdim",
                       "headdim_v", "dtype")})

    is_operation = False  # operation_problem.py has those

    def inputs(self, generator, device, spread):
        from tensors import Inputs
        return Inputs(self, generator, device, spread)

    def judge(self, library, inputs, kernel, seed):
        from tensors import Judge
        return Judge(library, self, inputs, kernel, seed)

    def ours(self, library, sets, kernel, threads):
        from tensors import Raceline
        return Raceline(library, self, sets, kernel, threads)

    @property
    def group(self):
        return self.heads_q // self.heads_kv

    @property
    def decode(self):
        return self.seqlen_q == 1

    @property
    def moves_bytes(self):
        """Whether its rate is one of bytes."""
        return self.decode

    @property
    def masked(self):
        """Whether any key is hidden: the one query of a decode sees all of them."""
        return self.causal and not self.decode

    @property
    def element_bytes(self):
        return {"fp32": 4, "e4m3": 1}.get(self.dtype, 2)

    @property
    def out_dtype(self):
        """8-bit attention answers in bf16."""
        return "bf16" if self.dtype == "e4m3" else self.dtype

    def visited_pairs(self):
        """(query, key) pairs of one head in one sequence, the mask aligned bottom-right."""
        if not self.causal:
            return self.seqlen_q * self.seqlen_k
        first = self.seqlen_k - self.seqlen_q + 1  # keys that row 0 sees; may be below 1
        return sum(max(0, first + i) for i in range(self.seqlen_q))

    def flops(self):
        """2·(headdim + headdim_v) a visited pair and query head."""
        return 2 * (self.headdim + self.headdim_v) * self.batch * self.heads_q * self.visited_pairs()

    def cache_bytes(self):
        return (self.batch * self.heads_kv * self.seqlen_k * (self.headdim + self.headdim_v)
                * self.element_bytes)

    def set_bytes(self):
        """Q, K, V and the output, once."""
        rows = self.batch * self.heads_q * self.seqlen_q
        out_bytes = 4 if self.out_dtype == "fp32" else 2
        return self.cache_bytes() + rows * (self.headdim * self.element_bytes
                                            + self.headdim_v * out_bytes)

    def rate(self, seconds):
        """What a reader wants to see: TFLOP/s of a prefill, TB/s of a decode."""
        work = self.cache_bytes() if self.decode else self.flops()
        return work / seconds / 1e12

    def regime(self):
        """What is averaged together."""
        if self.decode:
            return f"decode {self.dtype}"
        return f"d{self.headdim} {'causal' if self.causal else 'full'} {self.dtype}"
