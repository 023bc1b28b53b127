"""Kernels keep to the static shared memory that every device has, whatever they combine."""

from __future__ import annotations

import random
import re
from functools import cache
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import pytest

from ragged_dialect import compile
from ragged_dialect._mlir import ir
from ragged_dialect.asm.module import parse_module
from ragged_dialect.device_model import DEVICE
from ragged_dialect.dialect import context
from ragged_dialect.emulator import Emulator
from ragged_dialect.lowering import pipelines
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.shared_memory import EXCHANGE_BYTES
from ragged_dialect.lowering.gpu.kernel.slots import Slots
from ragged_dialect.lowering.gpu.nvvm.translate import kernels_to_llvm
from ragged_dialect.passes.pipeline.running import run_pipeline
from ragged_dialect.passes.pipeline.stages import parse_pipeline

NUMPY = {
    "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64,
}  # fmt: skip
COUNT, OUTS = 1000, 4
FULL = (DEVICE.shared_bytes - EXCHANGE_BYTES) // 8
"""Elements of the largest temporary in shared memory."""


def shared_bytes(text: str) -> dict[str, int]:
    """Bytes of shared memory of every kernel of a module's text."""
    found: dict[str, int] = {}
    for name, signature in re.findall(r"gpu\.func @(\w+)\((.*)", text):
        buffers = re.findall(r"memref<([\dx]*)x(\w+), #gpu.address_space<workgroup>>", signature)
        sizes = [prod(map(int, shape.split("x"))) * np.dtype(NUMPY[kind]).itemsize for shape, kind in buffers]
        found[name] = sum(-(-size // 16) * 16 for size in sizes)
    return found


class TestSlots:
    """There is a slot for one value at least, and never more of them than there is room for."""

    @pytest.fixture
    def kernel(self, mlir_context: Any) -> Any:
        module = ir.Module.parse("gpu.module @kernels { gpu.func @g() kernel { gpu.return } }")
        kernel = Kernel("f", 256, module.body.operations[0].operation)
        with ir.Location.unknown(mlir_context):
            kernel.open()
            yield kernel
        assert module.operation

    @pytest.mark.parametrize("threads", [32, 64, 128, 256, 512, 1024])
    def test_room(self, kernel: Any, threads: int) -> None:
        pick = random.Random(threads)
        for _ in range(20):
            kernel.threads, kernel.shared_left = threads, EXCHANGE_BYTES
            slots = Slots(kernel)
            for _ in range(30):
                types = [ir.Type.parse(pick.choice(list(NUMPY))) for _ in range(pick.randint(1, 4))]
                found = slots.of(types)
                assert 1 <= len(found) <= len(types)
                assert len(set(found)) == len(found)
                slots.totals(types[0])
                assert kernel.shared_left >= 0

    def test_of_one_element_type(self, kernel: Any) -> None:
        a, b = Slots(kernel).of([ir.Type.parse("index"), ir.Type.parse("i64")])
        assert a.type == b.type
        assert a != b


def reductions(kinds: tuple[str, ...]) -> str:
    """Sums of arrays of several types in one body, beside a temporary that leaves no more than it must."""
    parameters, body = [], []
    for kind in kinds:
        outs = [f"%{kind}_{k}" for k in range(OUTS)]
        parameters += [f"%{kind}: memref<{COUNT}x{kind}>", *(f"{out}: memref<{kind}>" for out in outs)]
        add = "arith.addf" if kind.startswith("f") else "arith.addi"
        sums = "\n".join(f"%s{k} = {add} %a{k}, %v : {kind}" for k in range(OUTS))
        body.append(f"""linalg.generic {{indexing_maps = [affine_map<(d) -> (d)>, {", ".join(["#none"] * OUTS)}],
            iterator_types = ["reduction"]}} ins(%{kind} : memref<{COUNT}x{kind}>)
            outs({", ".join(outs)} : {", ".join([f"memref<{kind}>"] * OUTS)}) {{
        ^bb0(%v: {kind}, {", ".join(f"%a{k}: {kind}" for k in range(OUTS))}):
          {sums}
          linalg.yield {", ".join(f"%s{k}" for k in range(OUTS))} : {", ".join([kind] * OUTS)}
        }}""")
    return f"""
    #none = affine_map<(d) -> ()>
    #id = affine_map<(d) -> (d)>
    func.func @f({", ".join(parameters)}, %last: memref<{FULL}xi64>) {{
      scf.forall (%b) in (1) {{
        %t = memref.alloc() : memref<{FULL}xi64>
        linalg.generic {{indexing_maps = [#id], iterator_types = ["parallel"]}} outs(%t : memref<{FULL}xi64>) {{
        ^bb0(%o: i64):
          %i = linalg.index 0 : index
          %v = arith.index_cast %i : index to i64
          linalg.yield %v : i64
        }}
        {"".join(body)}
        linalg.generic {{indexing_maps = [#id, #id], iterator_types = ["parallel"]}}
            ins(%t : memref<{FULL}xi64>) outs(%last : memref<{FULL}xi64>) {{
        ^bb0(%v: i64, %o: i64):
          linalg.yield %v : i64
        }}
      }}
      return
    }}"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("threads", [64, 256, 1024])
@pytest.mark.parametrize("kinds", [("f64", "i64", "f32"), ("f32", "i32", "f16", "i16", "i8", "index", "f64")])
def test_parts_of_many_types(kinds: tuple[str, ...], threads: int) -> None:
    module: Any = parse_module(reductions(kinds), context())
    text = f"convert-forall-to-gpu{{threads={threads}}},canonicalize,cse"
    run_pipeline(module, parse_pipeline(text, module.operation.context), True)
    (size,) = shared_bytes(str(module)).values()
    assert FULL * 8 < size <= DEVICE.shared_bytes
    pick = np.random.default_rng(threads)
    arguments: list[Any] = []
    for kind in kinds:
        arguments.append(pick.integers(-1, 2, COUNT).astype(NUMPY[kind]))
        arguments += [np.array(k, NUMPY[kind]) for k in range(OUTS)]
    last = np.zeros(FULL, np.int64)
    Emulator(kernels_to_llvm(module)).launch("f_0", (1, 1, 1), (threads, 1, 1), [*arguments, last])
    for values, *outs in (arguments[k : k + 1 + OUTS] for k in range(0, len(arguments), 1 + OUTS)):
        assert [out.item() for out in outs] == [(k + values.sum(dtype=values.dtype)).item() for k in range(OUTS)]
    np.testing.assert_array_equal(last, np.arange(FULL))


@cache
def of_rows(outs: int, kind: str, wide: str) -> str:
    """Multiples of the sums over the rows of components, one per out."""
    x, out = f'tensor<?x?x8x{kind}, #ragged.layout<"dr|d">>', f"tensor<?x8x{wide}>"
    maps = ", ".join(["affine_map<(b, i, j) -> (b, i, j)>", *["affine_map<(b, i, j) -> (b, j)>"] * outs])
    names = [f"%o{k}" for k in range(outs)]
    steps = "\n".join(
        f"%m{k} = arith.mulf %w, %f{k} : {wide}\n%s{k} = arith.addf %a{k}, %m{k} : {wide}" for k in range(outs)
    )
    return f"""
    func.func @f(%x: {x}, {", ".join(f"{o}: {out}" for o in names)}) -> ({", ".join([out] * outs)}) {{
      {chr(10).join(f"%f{k} = arith.constant {k}.0 : {wide}" for k in range(outs))}
      %r:{outs} = linalg.generic {{indexing_maps = [{maps}], iterator_types = ["parallel", "reduction", "parallel"]}}
          ins(%x : {x}) outs({", ".join(names)} : {", ".join([out] * outs)}) {{
      ^bb0(%v: {kind}, {", ".join(f"%a{k}: {wide}" for k in range(outs))}):
        %w = arith.extf %v : {kind} to {wide}
        {steps}
        linalg.yield {", ".join(f"%s{k}" for k in range(outs))} : {", ".join([wide] * outs)}
      }} -> ({", ".join([out] * outs)})
      return {", ".join(f"%r#{k}" for k in range(outs))} : {", ".join([out] * outs)}
    }}"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("outs", "kind", "wide"), [(2, "f16", "f32"), (7, "f16", "f32"), (24, "f32", "f64")])
def test_accumulators_of_components(outs: int, kind: str, wide: str) -> None:
    text = of_rows(outs, kind, wide)
    module: Any = parse_module(text, context())
    for stage in pipelines.gpu_pipeline(False):
        stage.run(module)
    sizes = shared_bytes(str(module))
    assert max(sizes.values()) <= DEVICE.shared_bytes
    assert any(name.endswith("_carries") for name in sizes)
    offsets = np.array([0, 300, 300, 302, 400])
    x = np.random.default_rng(outs).integers(-3, 4, (400, 8)).astype(NUMPY[kind])
    starts = [np.full((4, 8), k, NUMPY[wide]) for k in range(outs)]
    found = compile(text, target="emulator")((x, offsets), *starts)
    for k, out in enumerate(found):
        sums = [k + k * x[low:high].sum(0, dtype=np.float64) for low, high in pairwise(offsets)]
        np.testing.assert_array_equal(out, np.stack(sums))
