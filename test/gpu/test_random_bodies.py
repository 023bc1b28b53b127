"""Kernels of several random ops on the same buffers, against NumPy: a missing barrier is a race in the emulator.

Programs rarely make such bodies, as what could be fused is; what becomes of those that are left rests on
`convert-forall-to-gpu` being right for any.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.run_pass import transform

from ragged_dialect._mlir import ir
from ragged_dialect.emulator import Emulator
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.buffers.subviews import root
from ragged_dialect.lowering.gpu.nvvm.translate import kernels_to_llvm
from ragged_dialect.lowering.gpu.passes.convert_forall_to_gpu import ConvertForallToGpu

NUMPY: dict[str, Any] = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "i8": np.int8, "i32": np.int32, "i64": np.int64,
}  # fmt: skip
EXTENTS = (1, 2, 3, 6, 8, 16, 33, 64, 96)
QUICK, MANY = 40, 1500
Step = Callable[[list[Any]], None]


class Body:
    """Random ops on the arguments of a function, as text, and what they do to arrays. Elements are integers from 0 to
    15, which every type has; sums of them are taken of 16 again where they are read."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        extents = self.random.sample(EXTENTS, 2)
        self.kinds = [self.random.choice(list(NUMPY)) for _ in range(self.random.randint(2, 4))]
        self.shapes = [tuple(self.random.choices(extents, k=self.random.choice((1, 2, 2)))) for _ in self.kinds]
        self.text, self.steps = self.ops(self.random.randint(2, 5), 0)

    @property
    def source(self) -> str:
        """The function."""
        arguments = ", ".join(f"%x{k}: {self.type(k)}" for k in range(len(self.kinds)))
        return f"""func.func @f({arguments}) {{
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c2 = arith.constant 2 : index
          scf.forall (%b) in (1) {{
            {self.text}
          }}
          return
        }}"""

    def type(self, k: int) -> str:
        """The type of an argument."""
        return f"memref<{'x'.join(map(str, self.shapes[k]))}x{self.kinds[k]}>"

    def ops(self, count: int, depth: int) -> tuple[str, list[Step]]:
        """Some ops, one after the other; a few are in a loop that runs twice."""
        texts: list[str] = []
        steps: list[Step] = []
        for _ in range(count):
            if depth == 0 and self.random.random() < 0.2:
                text, inner = self.ops(2, 1)
                texts.append(f"scf.for %i{len(texts)} = %c0 to %c2 step %c1 {{\n{text}\n}}")
                steps += inner * 2
            else:
                text, step = self.op()
                texts.append(text)
                steps.append(step)
        return "\n".join(texts), steps

    def op(self) -> tuple[str, Step]:
        """An op that writes an argument: of one or two others, transposed or broadcast, element by element, or as sums
        or maxima over one more loop."""
        out = self.random.randrange(len(self.kinds))
        shape = list(self.shapes[out])
        others = [k for k in range(len(self.kinds)) if k != out]
        reduced = self.random.random() < 0.5
        loops = [*shape, self.random.choice([e for k in others for e in self.shapes[k]])] if reduced else shape
        ins = [(k, found) for k in self.random.sample(others, len(others)) if (found := self.places(k, loops))][:2]
        if reduced and not any(len(shape) in found for _, found in ins):
            return self.op()
        largest = reduced and (self.kinds[out] in ("f16", "bf16", "i8") or self.random.random() < 0.5)
        number = self.random.randint(1, 9)
        text = self.generic(out, ins, reduced, largest, number)

        def step(arrays: list[Any]) -> None:
            total = np.full(loops, number)
            for k, found in ins:
                grid = np.ix_(*(np.arange(e) for e in loops))
                total = total + arrays[k].astype(np.int64)[tuple(grid[d] for d in found)] % 16
            made = total % 16
            if reduced:
                old = arrays[out].astype(np.int64)
                made = np.maximum(old, made.max(-1)) if largest else old + made.sum(-1)
            arrays[out][...] = made.astype(arrays[out].dtype)

        return text, step

    def places(self, k: int, loops: list[int]) -> list[int]:
        """A loop for each dim of an argument, as long as it is; none where there is not one for each."""
        found: list[int] = []
        for extent in self.shapes[k]:
            fitting = [d for d, e in enumerate(loops) if e == extent and d not in found]
            if not fitting:
                return []
            found.append(self.random.choice(fitting))
        return found

    def generic(self, out: int, ins: list[tuple[int, list[int]]], reduced: bool, largest: bool, number: int) -> str:
        """The op's text."""
        rank = len(self.shapes[out])
        loops = ", ".join(f"d{d}" for d in range(rank + reduced))
        maps = [f"affine_map<({loops}) -> ({', '.join(f'd{d}' for d in found)})>" for _, found in ins]
        maps.append(f"affine_map<({loops}) -> ({', '.join(f'd{d}' for d in range(rank))})>")
        kinds = ", ".join(['"parallel"'] * rank + ['"reduction"'] * reduced)
        names, types = ", ".join(f"%x{k}" for k, _ in ins), ", ".join(self.type(k) for k, _ in ins)
        given = f"ins({names} : {types}) " if ins else ""
        elements = ", ".join([*(f"%e{k}: {self.kinds[k]}" for k, _ in ins), f"%o: {self.kinds[out]}"])
        lines = ["%m = arith.constant 15 : i64", f"%t0 = arith.constant {number} : i64"]
        for n, (k, _) in enumerate(ins):
            lines += [converted(f"%e{k}", self.kinds[k], f"%w{k}", "i64"), f"%r{k} = arith.andi %w{k}, %m : i64"]
            lines.append(f"%t{n + 1} = arith.addi %t{n}, %r{k} : i64")
        lines += [f"%v = arith.andi %t{len(ins)}, %m : i64", converted("%v", "i64", "%p", self.kinds[out])]
        letter = "i" if self.kinds[out].startswith("i") else "f"
        combine = ("maxsi" if letter == "i" else "maximumf") if largest else f"add{letter}"
        lines.append(f"%y = arith.{combine} %o, %p : {self.kinds[out]}" if reduced else "")
        body = "\n".join(lines)
        return f"""linalg.generic {{indexing_maps = [{", ".join(maps)}], iterator_types = [{kinds}]}}
            {given}outs(%x{out} : {self.type(out)}) {{
          ^bb0({elements}):
            {body}
            linalg.yield {"%y" if reduced else "%p"} : {self.kinds[out]}
        }}"""


def converted(x: str, source: str, name: str, target: str) -> str:
    """A conversion between i64 and another type."""
    other = source if target == "i64" else target
    if other == "i64":
        return f"%c0{name[1:]} = arith.constant 0 : i64\n{name} = arith.addi {x}, %c0{name[1:]} : i64"
    if other.startswith("i"):
        return f"{name} = arith.{'extsi' if target == 'i64' else 'trunci'} {x} : {source} to {target}"
    return f"{name} = arith.{'fptosi' if target == 'i64' else 'sitofp'} {x} : {source} to {target}"


def parameters(module: Any) -> list[int]:
    """The arguments that the kernel takes, in order."""
    (launch,) = find_ops(module.operation, "gpu.launch_func")
    buffers = [x for x in launch.operands if isinstance(x.type, ir.MemRefType)]
    return [ir.BlockArgument(root(x)).arg_number for x in buffers]


def check(seed: int) -> None:
    """One body, with other numbers of threads, registers and bits of indices for each seed."""
    body = Body(seed)
    arrays = [np.random.default_rng(seed).integers(0, 16, s) for s in body.shapes]
    arrays = [x.astype(NUMPY[kind]) for x, kind in zip(arrays, body.kinds, strict=True)]
    expected = [x.copy() for x in arrays]
    for step in body.steps:
        step(expected)
    options = ConvertForallToGpu(threads=(32, 64, 256)[seed % 3], unroll=(1, 2, 4, 8)[seed % 4])
    module = transform(body.source, options, "canonicalize", "cse")
    emulator = Emulator(kernels_to_llvm(module, 64), seed=seed)
    (name,) = emulator.kernels
    emulator.launch(name, (1, 1, 1), (options.threads, 1, 1), [arrays[k] for k in parameters(module)])
    for found, wanted in zip(arrays, expected, strict=True):
        np.testing.assert_array_equal(found, wanted, err_msg=body.source)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(QUICK))
def test_some_bodies(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(QUICK, MANY, 100))
def test_many_bodies(first: int) -> None:
    for seed in range(first, first + 100):
        check(seed)
