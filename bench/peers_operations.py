# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operations, as they are called and by torch.compile."""

import contextlib

import torch
import torch.nn.functional as F

STEPS = {
    "relu": torch.relu, "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh,
    "exp": torch.exp, "square": torch.square,
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "softmax": lambda x: torch.softmax(x, dim=-1),
}
WITH_OPERAND = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "bias": torch.add,
                "gain": torch.mul}


def rope(x, angles, head):
    """Halves of heads turned against each other, as Llama's published code does."""
    rows, width = x.shape
    heads = x.view(rows, width // head, head)
    cos, sin = (t[:, None, :].to(x.dtype) for t in angles.split(head // 2, dim=1))
    low, high = heads.split(head // 2, dim=2)
    return torch.cat([low * cos - high * sin, high * cos + low * sin], dim=2).view(rows, width)


def chain(problem):
    """f(tensors) -> outputs, of a chain of rows or a product with steps around it."""
    eps, head = problem.scalars.get("eps"), problem.extents.get("d")

    def run(*tensors):
        x, operands, outputs = tensors[0], iter(tensors[1:]), []
        for step in problem.steps:
            if step in STEPS:
                x = STEPS[step](x)
            elif step in WITH_OPERAND:
                x = WITH_OPERAND[step](x, next(operands))
            elif step == "rmsnorm":
                x = F.rms_norm(x, x.shape[-1:], next(operands)[0], eps)
            elif step == "layernorm":
                gain, bias = next(operands)[0], next(operands)[0]
                x = F.layer_norm(x, x.shape[-1:], gain, bias, eps)
            elif step == "rope":
                x = rope(x, next(operands), head)
            elif step == "linear":
                x = F.linear(x, next(operands))
            elif step == "gemm":
                x = torch.matmul(x, next(operands))
            elif step == "store":
                outputs.append(x)
        return (*outputs, x)
    return run


def embedding(_problem):
    def run(table, ids):
        return (F.embedding(ids[:, 0], table),)
    return run


def cross_entropy(_problem):
    def run(logits, targets):
        return (F.cross_entropy(logits, targets[:, 0], reduction="none"),)
    return run


FUNCTIONS = {"embedding": embedding, "crossentropy": cross_entropy}


def function_of(problem):
    return FUNCTIONS.get(problem.name, chain)(problem)


def arguments_of(problem, inputs):
    """What the function takes: inputs alone. A product's bias follows it at once."""
    given = [t for spec, t in zip(problem.operation.tensors, inputs.tensors) if not spec["output"]]
    if problem.name == "crossentropy":
        given[1] = given[1].long()
    return given


def with_lse(problem, arguments, answer):
    """PyTorch's cross-entropy keeps no LSE: what the gate asks for beside the loss, not timed."""
    if problem.name != "crossentropy":
        return answer
    lse = torch.logsumexp(arguments[0].double(), dim=1)
    return answer[0][:, None], lse[:, None]


class TorchOperation:
    """One way to run an operation in PyTorch."""

    is_operation = True
    version = torch.__version__

    def __init__(self, name, backend, compiled):
        self.name, self.backend, self.compiled = name, backend, compiled
        self.label = backend

    def refusal(self, problem):
        return "its step is an optimiser of its own" if problem.name == "adam" else ""

    def bind(self, problem, sets):
        function = function_of(problem)
        if self.compiled:
            torch._dynamo.reset()
            function = torch.compile(function, dynamic=False)
        arguments = [arguments_of(problem, x) for x in sets]

        def call(i):
            return function(*arguments[i])
        call.answer = lambda i: with_lse(problem, arguments[i], call(i))
        return call

    def context(self):
        return contextlib.nullcontext()


class TorchAdam(TorchOperation):
    """torch.optim.AdamW's fused step, in place on tensors of its own."""

    def __init__(self, name):
        super().__init__(name, "adamw_fused", False)

    def refusal(self, problem):
        if problem.name != "adam":
            return "it is an optimiser's step"
        types = {spec["name"]: spec["dtype"] for spec in problem.operation.tensors if spec["rows"]}
        if "new_master" in types or types["first"] != types["new_parameter"]:
            return "its moments have the parameters' type, and it keeps no master copy"
        return ""

    def bind(self, problem, sets):
        def optimiser_of(x):
            p, parameter = problem.scalars, torch.nn.Parameter(x.named["parameter"].clone())
            parameter.grad = x.named["gradient"]
            optimiser = torch.optim.AdamW([parameter], lr=p["lr"], betas=(p["beta1"], p["beta2"]),
                                          eps=p["eps"], weight_decay=p["decay"], fused=True)
            before = float(problem.extents["step"] - 1)
            optimiser.state[parameter] = {
                "step": torch.tensor(before, device=parameter.device),
                "exp_avg": x.named["first"].clone(), "exp_avg_sq": x.named["second"].clone()}
            return optimiser, parameter
        optimisers = [optimiser_of(x)[0] for x in sets]

        def call(i):
            optimisers[i].step()
            return ()

        def answer(i):
            optimiser, parameter = optimiser_of(sets[i])
            optimiser.step()
            state = optimiser.state[parameter]
            return parameter.detach(), state["exp_avg"], state["exp_avg_sq"]
        call.answer = answer
        return call


def torch_operations(on_gpu):
    eager, compiled = ("torch", "torch_compile") if on_gpu else ("torch_cpu", "torch_cpu")
    return [TorchOperation(eager, "eager", False), TorchOperation(compiled, "compile", True),
            TorchAdam(eager)]
