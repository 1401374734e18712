# SPDX-License-Identifier: Apache-2.0
"""One attention problem that raceline and its peers can all be asked for."""

from dataclasses import dataclass

# Members of a workload that no peer here is asked for, with the value that means "not wanted".
PLAIN = {"window": None, "softcap": 0, "sinks": False}
UNSET = ("seqlens_q", "seqlens_k", "mla", "scale", "scales", "tree")


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
    kv_dtype: str = ""   # of the cache; "": dtype
    page_size: int = 0   # of a paged cache; 0: contiguous

    @classmethod
    def of(cls, text, workload):
        """From a shape's text and the workload that the library read in it. Raises ValueError with
        the reason if it asks for something that is not compared."""
        for member, plain in PLAIN.items():
            if workload[member] != plain:
                raise ValueError(f"{member} is {workload[member]}; no peer is asked for that")
        for member in UNSET:
            if workload.get(member):
                raise ValueError(f"{member} is set; no peer is asked for that")
        decode, eight_bit_cache = workload["seqlen_q"] == 1, workload["kv_dtype"] == "e4m3"
        if workload["kv_dtype"] != workload["dtype"] and not (decode and eight_bit_cache):
            raise ValueError("kv_dtype is not dtype; of other caches only e4m3 ones of a decode are "
                             "compared")
        if workload["page_size"] and not decode:
            raise ValueError("page_size is set; pages are compared in decode alone")
        return cls(text=text, causal=workload["mask"] == "causal",
                   **{name: workload[name] for name in
                      ("batch", "heads_q", "heads_kv", "seqlen_q", "seqlen_k", "headdim",
                       "headdim_v", "dtype", "kv_dtype", "page_size")})

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
    def cache_dtype(self):
        return self.kv_dtype or self.dtype

    @property
    def mixed(self):
        """Whether queries and cache have different types."""
        return self.cache_dtype != self.dtype

    @property
    def pages(self):
        """Of each sequence."""
        return -(-self.seqlen_k // self.page_size) if self.page_size else 0

    @property
    def moves_bytes(self):
        """Whether its rate is one of bytes."""
        return self.decode

    @property
    def masked(self):
        """Whether any key is hidden: the one query of a decode sees all of them."""
        return self.causal and not self.decode

    @staticmethod
    def bytes_of(dtype):
        return {"fp32": 4, "e4m3": 1}.get(dtype, 2)

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
                * self.bytes_of(self.cache_dtype))

    def set_bytes(self):
        """Q, K, V and the output, once."""
        rows = self.batch * self.heads_q * self.seqlen_q
        return self.cache_bytes() + rows * (self.headdim * self.bytes_of(self.dtype)
                                            + self.headdim_v * self.bytes_of(self.out_dtype))

    def rate(self, seconds):
        """What a reader wants to see: TFLOP/s of a prefill, TB/s of a decode."""
        work = self.cache_bytes() if self.decode else self.flops()
        return work / seconds / 1e12

    def regime(self):
        """What is averaged together."""
        if self.decode:
            over = f" over {self.cache_dtype}" if self.mixed else ""
            return f"decode {self.dtype}{over}{' in pages' if self.page_size else ''}"
        return f"d{self.headdim} {'causal' if self.causal else 'full'} {self.dtype}"
