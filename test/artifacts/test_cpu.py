"""Shared libraries for the CPU: built, called from C, compared with what `compile` computes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest
from support.bf16_sums import SUMS
from support.c_program import NO_CC, call, compile_c
from support.structures import text_of
from support.threaded_programs import OFFSETS, PROGRAMS, VALUES

from conftest import ROOT
from ragged_dialect import RaggedError, compile
from ragged_dialect.artifacts.cpu_library import write
from ragged_dialect.runtime.cpu import CpuFunction

pytestmark = pytest.mark.skipif(NO_CC is not None, reason=NO_CC or "")

F32 = np.float32
DOCS, J = '#ragged.layout<"dr|d">', '#ragged.layout<"dr">'
X, WORDS = f"tensor<?x?xf32, {J}>", f"tensor<?x?x8xf32, {DOCS}>"
HALF, BRAIN, DOUBLE = (f"tensor<?x?x{element}, {J}>" for element in ("f16", "bf16", "f64"))
BATCHES = 'tensor<?x2x?xi32, #ragged.layout<"ddr">>'
EXAMPLE = ROOT / "examples" / "attention_pooling.mlir"
SMALL = (np.arange(32, dtype=F32).reshape(4, 8) / 8 - 1, np.array([0, 3, 3, 4]))
NOTHING = (np.zeros((0, 8), F32), np.array([0]))


def elements(dtype: Any) -> Any:
    """Two ragged components with one between them that is empty."""
    return np.arange(3).astype(dtype), np.array([0, 2, 2, 3])


CASES: dict[str, tuple[str, list[Any]]] = {
    "segment sum": (
        text_of([WORDS], PROGRAMS["sum of components"][0], [("%0", "tensor<?x8xf32>")]),
        [SMALL],
    ),
    "softmax": (text_of([WORDS], PROGRAMS["softmax"][0], [("%0", WORDS)]), [SMALL]),
    "element types": (
        text_of(
            [HALF, BRAIN, DOUBLE, "f32"],
            [f"%0 = arith.addf %a0, %a0 : {HALF}", f"%1 = arith.addf %a1, %a1 : {BRAIN}",
             f"%2 = math.exp %a2 : {DOUBLE}"],
            [("%0", HALF), ("%1", BRAIN), ("%2", DOUBLE)],
        ),
        [elements(np.float16), elements(ml_dtypes.bfloat16), elements(np.float64), 0.5],
    ),
    "a product of bf16": (
        SUMS.format(depth=3),
        [(np.ones((4, 3), ml_dtypes.bfloat16), SMALL[1]), np.ones((3, 48), ml_dtypes.bfloat16)],
    ),
    "a scalar argument": (
        text_of(
            [X, "f32"],
            [f"%e = ragged.empty %a0 : ({X}) -> {X}", f"%s = linalg.fill ins(%a1 : f32) outs(%e : {X}) -> {X}",
             f"%0 = arith.mulf %a0, %s : {X}"],
            [("%0", X)],
        ),
        [elements(F32), 0.5],
    ),
    "scalars of all types": (
        text_of(
            ["i1", "i8", "f16", "bf16", "f32", "f64", "index", "tensor<f32>"],
            [],
            [("%a0", "i1"), ("%a1", "i8"), ("%a2", "f16"), ("%a3", "bf16"), ("%a4", "f32"), ("%a5", "f64"),
             ("%a6", "index"), ("%a7", "tensor<f32>")],
        ),
        [True, -3, 0.5, 1.5, 0.1, -0.1, 7, np.array(2.5, F32)],
    ),
    "one buffer in several results": (
        text_of(
            ["tensor<?xf32>"],
            ["%0 = arith.addf %a0, %a0 : tensor<?xf32>", "%1 = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>"],
            [("%0", "tensor<?xf32>"), ("%1", "tensor<2xf32>"), ("%0", "tensor<?xf32>"), ("%a0", "tensor<?xf32>")],
        ),
        [np.array([1, 2, 3], F32)],
    ),
    "extents": (
        text_of([BATCHES], [f"%0 = arith.addi %a0, %a0 : {BATCHES}"], [("%0", BATCHES)]),
        [(np.arange(3, dtype=np.int32), np.array([0, 1, 1, 3, 3]), 2)],
    ),
    "no argument": (text_of([], ["%0 = arith.constant 3 : i16"], [("%0", "i16")]), []),
    "no result": (text_of([X], [], []), [elements(F32)]),
}  # fmt: skip


class Built(NamedTuple):
    """A library, and the same program as `compile` makes it."""

    library: Path
    function: CpuFunction

    def check(self, arguments: list[Any], threads: int = 1) -> list[Any]:
        """The results of a call from C: as the function's, up to the order of additions."""
        got, returned = call(self.library, self.function.signature, arguments, threads), self.function(*arguments)
        assert isinstance(got, list), got
        results = [returned] if len(self.function.signature.results) == 1 else list(returned or ())
        parts = [part for result in results for part in (result if isinstance(result, tuple) else (result,))]
        for a, b in zip(got, parts, strict=True):
            assert np.shape(a) == np.shape(b)
            np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol=1e-6)
        return got

    def failure(self, *arguments: Any) -> str:
        """The text of a call from C that fails."""
        text = call(self.library, self.function.signature, arguments)
        assert isinstance(text, str), text
        return text


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Built]:
    """Makes the library of a case, once."""

    @cache
    def built(case: str) -> Built:
        library, declarations = write(CASES[case][0], None, tmp_path_factory.mktemp("case") / "libf.so")
        assert declarations == library.with_name("f.h")
        return Built(library, compile(CASES[case][0]))

    return built


@pytest.fixture(scope="module")
def pooling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The library of the example, made from its file."""
    return write(EXAMPLE, "attention_pooling", tmp_path_factory.mktemp("pooling") / "libattention_pooling.so")[0]


Build = Callable[[str], Built]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_compile(case: str, build: Build) -> None:
    build(case).check(CASES[case][1])


def test_an_argument_without_components(build: Build) -> None:
    build("softmax").check([NOTHING])


def test_threads_do_not_change_results(build: Build) -> None:
    one, many = (build("softmax").check([(VALUES, OFFSETS)], threads) for threads in (1, 3))
    assert [part.tobytes() for part in one] == [part.tobytes() for part in many]


def test_code_for_other_machines(tmp_path: Path) -> None:
    """It runs here too, without this machine's vector instructions and vector math library."""
    text, arguments = CASES["element types"]
    library = write(text, None, tmp_path / "libf.so", cpu="generic")[0]
    Built(library, compile(text)).check(arguments)
    assert b"libmvec" not in library.read_bytes()


@pytest.mark.parametrize("offsets", [[1, 3, 3, 4], [0, 3, 2, 4], [0, 3, 3, 5], []])
def test_invalid_data_has_the_text_of_compile(offsets: list[int], build: Build) -> None:
    bad = (SMALL[0], np.array(offsets, np.int64))
    with pytest.raises(RaggedError) as error:
        build("softmax").function(bad)
    assert build("softmax").failure(bad) == str(error.value)


def test_negative_extents_of_ragged_arguments(build: Build) -> None:
    ((values, offsets, _),) = CASES["extents"][1]
    text = build("extents").failure((values, offsets, -1))
    assert text == "f: argument 0, extent0: expected an extent of at least 0, got -1"


def test_without_checks_there_is_no_text(tmp_path: Path) -> None:
    text, arguments = CASES["a scalar argument"]
    library = write(text, None, tmp_path / "libf.so", check=False)[0]
    assert b"expected offsets" not in library.read_bytes()
    Built(library, compile(text, check=False)).check(arguments)


def test_two_results_and_names_of_arguments(pooling: Path) -> None:
    rng = np.random.default_rng(1)
    arguments = [rng.standard_normal((4, 64), F32), np.array([0, 0, 3, 4]), rng.standard_normal(64, F32)]
    Built(pooling, compile(EXAMPLE)).check(arguments)
    text = pooling.with_name("attention_pooling.h").read_text()
    assert "const float *words,\n    int64_t words_dim0,\n    const int64_t *offsets,\n" in text


class Pooling(ctypes.Structure):
    """`attention_pooling_result`."""

    _fields_ = (("pooled", ctypes.c_void_p), ("sizes", ctypes.c_int64 * 2), ("weights", ctypes.c_void_p),
                ("count", ctypes.c_int64), ("memory", ctypes.c_void_p * 2))  # fmt: skip


def failure(library: ctypes.CDLL, *arguments: Any) -> str:
    """The text of a call that fails, and leaves nothing in the result."""
    result = Pooling(1, (1, 1), 1, 1, (1, 1))
    converted = [ctypes.c_int64(a) if isinstance(a, int) else a for a in arguments]
    assert library.attention_pooling(*converted, ctypes.byref(result)) == 1
    assert bytes(result) == bytes(ctypes.sizeof(result))
    library.attention_pooling_error.restype = ctypes.c_char_p
    return library.attention_pooling_error().decode()


def test_arguments_that_do_not_fit(pooling: Path) -> None:
    library = ctypes.CDLL(str(pooling))
    words, offsets, query = (ctypes.c_float * 64)(), (ctypes.c_int64 * 2)(0, 1), (ctypes.c_float * 64)()
    place = "attention_pooling: argument"
    text = failure(library, words, -1, offsets, 2, query)
    assert text == f"{place} 0: expected an extent of at least 0 on axis 0, got -1"
    assert failure(library, words, 1, None, 2, query) == f"{place} 1: expected an array, got NULL"
    assert failure(library, words, 1, offsets, 2, None) == f"{place} 2: expected an array, got NULL"
    text = failure(library, None, 0, offsets, 2, query)
    assert text == "ragged.partition: level 1, component 0: expected offsets[1] == 0, got 1"


def test_only_the_interface_is_exported(pooling: Path) -> None:
    library = ctypes.CDLL(str(pooling))
    for name in ("attention_pooling", *(f"attention_pooling_{x}" for x in ("free", "error", "set_threads"))):
        assert hasattr(library, name)
    for name in ("ragged_set_threads", "_mlir_packed_attention_pooling", "_mlir_ciface_attention_pooling"):
        assert not hasattr(library, name)


def test_the_header_is_cpp_too(pooling: Path, tmp_path: Path) -> None:
    if shutil.which("c++") is None:
        pytest.skip("no C++ compiler")
    source = tmp_path / "main.cpp"
    source.write_text('#include "attention_pooling.h"\nint main() { attention_pooling_result r = {}; '
                      "attention_pooling_free(&r); return attention_pooling_error()[0]; }\n")  # fmt: skip
    options = ["-I", str(pooling.parent), str(pooling), f"-Wl,-rpath,{pooling.parent}", "-o", str(tmp_path / "main")]
    subprocess.run(["c++", "-Wall", "-Wextra", "-Werror", "-pedantic", str(source), *options], check=True)
    subprocess.run([str(tmp_path / "main")], check=True)


def test_the_example_in_c(pooling: Path, tmp_path: Path) -> None:
    program = tmp_path / "pooling"
    options = ["-I", str(pooling.parent), str(pooling), f"-Wl,-rpath,{pooling.parent}"]
    compile_c(ROOT / "examples" / "c" / "attention_pooling.c", program, options)
    done = subprocess.run([str(program)], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "document 0: weights 0.982 0.018, pooled 0.982 0.018",
        "document 1: weights, pooled 0.000 0.000",
        "document 2: weights 1.000, pooled 0.000 1.000",
        "refused: ragged.partition: level 1, component 1: expected offsets[2] >= offsets[1], got 1 < 2",
    ]
