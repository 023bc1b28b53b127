"""Compiled programs against the reference interpreter: all layouts, element types and structures,
and equal bits for one and two threads, and for any order in which the warps of a kernel run."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cpu_features import MASKS, OLDEST, mask
from support.matrix_generic import arith
from support.matrix_linalg import named_reduce, softmax
from support.matrix_program import MODES, Builder, Sample, samples, tensor_of, typed_shape
from support.structures import AXES, DTYPES, LAYOUTS, Case, offsets_of, seeded
from support.targets import TARGETS, compile_for

from ragged_dialect._mlir import ir, llvm
from ragged_dialect.errors import LayoutError
from ragged_dialect.lowering.runtime import thread_ragged_kernels
from ragged_dialect.lowering.runtime.runtime_calls import call
from ragged_dialect.lowering.runtime.thread_pool import THRESHOLD
from ragged_dialect.reference import RaggedValue, run

FLOATS = ("f16", "bf16", "f32", "f64")
INTEGERS = ("i8", "i16", "i32", "i64")
TOLERANCE = {"f16": 2e-3, "bf16": 1.6e-2, "f32": 2e-5, "f64": 1e-12}
"""Of the largest magnitude that takes part: a few roundings of the type, sums in f32 in any order."""

Program = Callable[[Builder], None]


def _elementwise(b: Builder) -> None:
    if b.element in FLOATS:
        names = ("addf", "subf", "mulf", "maximumf", "minimumf")
    else:
        names = ("andi", "ori", "xori") if b.element == "i1" else ("addi", "subi", "muli", "maxsi", "minui")
    arith(b, names, b.like())


def _reductions(b: Builder) -> None:
    """Over the last dim where its level allows, and over everything."""
    if b.element in FLOATS:
        combiners = ("addf", "maximumf", "minimumf")
    else:
        combiners = ("ori", "andi") if b.element == "i1" else ("addi", "muli", "maxsi", "minsi")
    for gone in ((b.rank - 1,), tuple(range(b.rank))):
        for combiner in combiners:
            b.give(named_reduce(b, gone, f"arith.{combiner}", 1))


def _functions(b: Builder) -> None:
    for name in ("exp", "tanh", "sqrt", "erf"):
        absolute = b.value(f"math.absf {b.x.name} : {b.x.type}", b.shape)
        b.give(b.value(f"math.{name} {absolute.name} : {b.x.type}", b.shape))


def _moved(b: Builder) -> None:
    """Copies: concatenation where there are no tiles, else a fill of the same structure."""
    try:
        shape = b.shape.concat([b.shape], 0)
    except LayoutError:
        b.give(b.same(1))
        return
    b.give(b.op("ragged.concat", [b.x, b.x], "dim = 0", shape))


PROGRAMS: dict[str, tuple[Program, tuple[str, ...]]] = {
    "elementwise": (_elementwise, tuple(DTYPES)),
    "reductions": (_reductions, tuple(DTYPES)),
    "functions": (_functions, FLOATS),
    "softmax": (lambda b: softmax(b.rank - 1)(b), FLOATS),
    "moved": (_moved, tuple(DTYPES)),
}


@functools.cache
def compiled(name: str, layout: str, element: str, target: str) -> tuple[Builder, str, Any, Any]:
    """A program, and two callables of it: on the CPU for one and two threads."""
    builder = Builder(layout, False, element)
    PROGRAMS[name][0](builder)
    text = builder.text()
    target, *_ = target.split()  # a level of the CPU is no target, but has programs of its own
    if target != "cpu":
        function = compile_for(target)(text)
        return builder, text, function, function
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(thread_ragged_kernels, "call_runtime", call_with_much_work)
        functions: list[Any] = []
        for threads in ("1", "2"):
            patch.setenv("RAGGED_NUM_THREADS", threads)
            functions.append(compile_for(target)(text))
    return builder, text, functions[0], functions[1]


def call_with_much_work(name: str, operands: list[ir.Value]) -> None:
    """A call that shares a loop, of so much work that threads share it: the data is small."""
    task, captures, count, work, *rest = operands
    enough = llvm.mlir_constant(ir.IntegerAttr.get(work.type, THRESHOLD))
    much = ir.Operation.create("llvm.intr.smax", results=[work.type], operands=[work, enough])
    call(name, [task, captures, count, much.result, *rest])


def data(builder: Builder, mode: str, seed: int) -> Sample:
    """A structure, with values of the whole range of small numbers of its type."""
    found = next(s for s in samples(builder.shape, builder.element, seed) if s.mode == mode)
    values = found.case.parts[0]
    if builder.element in FLOATS:
        values = (np.random.default_rng(seed).normal(size=values.shape) * 3).astype(values.dtype)
    elif builder.element in INTEGERS:
        info = np.iinfo(values.dtype)
        values = np.random.default_rng(seed).integers(info.min, info.max, values.shape, values.dtype, endpoint=True)
    case = Case(found.case.shape, found.case.element, (values, *found.case.parts[1:]))
    return Sample(found.pick, mode, case, RaggedValue.from_parts(case.shape, case.parts))


def outputs(builder: Builder, result: Any) -> list[Any]:
    """Results as a list, of windows their elements."""
    values = [result] if len(builder.results) == 1 else list(result)
    out: list[Any] = []
    for value, got in zip(builder.results, values, strict=True):
        if value.tensor.layout.is_dense:
            out.append(np.asarray(got))
        else:
            out += [np.asarray(p) for p in RaggedValue.from_parts(value.tensor, got).compact().to_parts()]
    return out


def check(name: str, layout: str, element: str, mode: str, seed: int, target: str) -> None:
    builder, text, one, two = compiled(name, layout, element, target)
    sample = data(builder, mode, seed)
    arguments = builder.arguments(sample)
    expected = run(text, "f", arguments)
    got = outputs(builder, one(*arguments))
    again = outputs(builder, two(*arguments))
    wanted = outputs(builder, expected[0] if len(expected) == 1 else expected)
    for a, b, c in zip(got, again, wanted, strict=True):
        assert a.tobytes() == b.tobytes()
        assert a.dtype == c.dtype
        if element in FLOATS and a.dtype == DTYPES[element]:
            a, c = a.astype(np.float64), c.astype(np.float64)
            scale = np.max(np.abs(sample.case.parts[0].astype(np.float64)), initial=1.0) * max(1, a.size)
            np.testing.assert_allclose(a, c, rtol=TOLERANCE[element], atol=TOLERANCE[element] * min(scale, 8.0))
        else:
            np.testing.assert_array_equal(a, c)


def check_any(draws: Any, target: str) -> None:
    """One program of all, on every kind of structure."""
    name = draws.draw(st.sampled_from(sorted(PROGRAMS)))
    layout = draws.draw(st.sampled_from(LAYOUTS))
    element = draws.draw(st.sampled_from(PROGRAMS[name][1]))
    for mode in MODES:
        check(name, layout, element, mode, draws.draw(st.integers(0, 2**16)), target)


@given(st.data())
@settings(max_examples=settings.default.max_examples // 5)  # a program compiles for a second
def test_programs_compute_what_the_interpreter_computes(draws: Any) -> None:
    check_any(draws, "cpu")


@pytest.mark.parametrize("target", TARGETS[1:])
@given(st.data())
@settings(max_examples=6)
def test_kernels_compute_what_the_interpreter_computes(target: str, draws: Any) -> None:
    check_any(draws, target)


@pytest.mark.sampled(30)
@pytest.mark.parametrize("element", sorted(DTYPES))
def test_every_element_type_on_one_layout(element: str, target: str, request: pytest.FixtureRequest) -> None:
    if target != "cpu" and element not in ("bf16", "f32", "i64") and not request.config.getoption("--slow"):
        pytest.skip("slow (run with --slow)")
    for name, (_, elements) in PROGRAMS.items():
        if element in elements and name != "functions":
            for mode in MODES:
                check(name, "dr|d", element, mode, 3, target)


OLDER = [
    pytest.param(element, level, marks=() if level == OLDEST and element == "f16" else pytest.mark.slow)
    for element in sorted(DTYPES)
    for level in MASKS
    if level != "host"
]


@pytest.mark.parametrize(("element", "level"), OLDER)
def test_every_element_type_on_older_processors(element: str, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(level, monkeypatch)
    for name, (_, elements) in PROGRAMS.items():
        if element in elements:
            for mode in MODES:
                check(name, "dr|d", element, mode, 3, f"cpu {level}")


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", sorted(PROGRAMS))
def test_every_layout_with_every_element_type(layout: str, name: str, target: str) -> None:
    for element in PROGRAMS[name][1]:
        for mode in MODES:
            check(name, layout, element, mode, 11, target)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("layout", ["dr|d", "drr", "dw"])
def test_large_data_has_equal_bits_on_two_threads(layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough work that threads start by themselves, with one component that holds half of it."""
    builder = Builder(layout, False)
    _reductions(builder)
    text = builder.text()
    rng = np.random.default_rng(5)
    sizes = [int(n) for n in rng.integers(0, 200, 600)]
    sizes[17] = sum(sizes)
    total = sum(sizes)
    parts: list[Any] = [rng.normal(size=(total, 3) if layout.endswith("|d") else total).astype(np.float32)]
    if layout == "drr":
        parts += [offsets_of([3] * 200), offsets_of(sizes)]
    else:
        parts += [offsets_of(sizes)[:-1], np.array(sizes, np.int64)] if layout == "dw" else [offsets_of(sizes)]
    results: list[list[bytes]] = []
    for threads in ("1", "2"):
        monkeypatch.setenv("RAGGED_NUM_THREADS", threads)
        results.append([r.tobytes() for r in outputs(builder, compile_for("cpu")(text)(tuple(parts)))])
    assert results[0] == results[1]


def test_generated_structures_are_of_their_type() -> None:
    """The data the other tests rest on: every layout has the structures that its modes name."""
    for layout in AXES:
        shape = typed_shape(layout, False)
        for mode in MODES:
            case = tensor_of(seeded(1), mode, shape, "f32")
            value = RaggedValue.from_parts(shape, case.parts)
            assert len(value.to_parts()) == len(shape.parts())
            if mode == "zero batch":
                assert not list(value.indices())
