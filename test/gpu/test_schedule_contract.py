"""The schedule of products on tensor cores: what fits it, and its results for components of all shapes."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.contractions import Product
from support.schedules import schedules_of
from support.targets import compile_for, on_host, ptx_target

import ragged_dialect as rg
from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering.gpu.contract.fragments import row_stride, swizzling
from ragged_dialect.lowering.gpu.nvvm.translate import kernels_to_llvm
from ragged_dialect.lowering.pipelines import gpu_pipeline
from ragged_dialect.ptx import emit
from ragged_dialect.ptx.assembler import KernelReport, check

Array = np.ndarray[Any, np.dtype[Any]]
NUMPY: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
LENGTHS = ([], [0], [0, 0, 0], [1], [3, 0, 5], [64, 0, 65, 63], [0, 200, 1, 0, 0, 33], [1] * 40)
PRODUCTS = [
    Product("f16", 64, 64),
    Product("bf16", 64, 64, grouped=False),
    Product("f16", 48, 40, bias=True),
    Product("bf16", 33, 7, bias=True, grouped=False),
    Product("f16", 200, 16, grouped=False),  # more steps than are in shared memory at once
    Product("bf16", 100, 72, turned=True),
    Product("f16", 1, 1, turned=True, grouped=False),
    Product("f16", 17, 130, added=True),
    Product("bf16", 8, 6, start=1.5),
    Product("f16", -1, -1, grouped=False),
    Product("f16", 40, 70, added=True, grouped=False, turned=True),
    Product("f32", 128, 128),
    Product("f32", 33, 130, bias=True, turned=True),
    Product("f32", 100, 24, grouped=False, start=1.5),
    Product("bf16", 65, 31),
    Product("f32", 63, 63, bias=True),  # with operands that are copied element by element, by few threads
]
LONG = Product("f16", 1024, 64)
"""One whose sums are not unrolled."""
SLOW = [pytest.param(product, marks=pytest.mark.slow) for product in PRODUCTS[1:]]
GPU = ptx_target()
MAIN_LOOP = 110
"""Instructions of the main loop."""


@cache
def compiled(product: Product, target: str) -> Any:
    return compile_for(target)(product.text())


def results(product: Product, target: str, lengths: list[int], seed: int) -> tuple[Array, Array, Array]:
    """The result of a program, what it is in f64, and a bound on the difference."""
    rng, dtype = np.random.default_rng(seed), NUMPY[product.dtype]
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    k, n = (e if e >= 0 else 21 + i for i, e in enumerate((product.k, product.n)))
    x = rng.standard_normal((offsets[-1], k)).astype(dtype)
    w = rng.standard_normal((len(lengths), k, n) if product.grouped else (k, n)).astype(dtype)
    more: list[Any] = []
    wide, weights = x.astype(np.float64), w.astype(np.float64)
    expected, size = np.full((offsets[-1], n), product.start), np.zeros((offsets[-1], n))
    for g, (low, high) in enumerate(pairwise(offsets)):
        own = weights[g] if product.grouped else weights
        expected[low:high] += wide[low:high] @ own
        size[low:high] = np.abs(wide[low:high]) @ np.abs(own)
    bound = 2.0**-23 * (k + 2) * (size + abs(product.start)) + 1e-30
    if product.bias:
        more = [rng.standard_normal(n).astype(dtype)]
        expected = np.maximum(expected + more[0].astype(np.float64), 0)
        bound = bound + np.abs(expected) * float(ml_dtypes.finfo(dtype).eps) + 1e-6
    if product.added:
        earlier = rng.standard_normal((offsets[-1], n)).astype(np.float32)
        more, expected = [(earlier, offsets)], expected + earlier
        bound = bound + 2.0**-22 * np.abs(earlier)
    w = np.ascontiguousarray(w.swapaxes(-1, -2)) if product.turned else w
    made = compiled(product, target)((x, offsets), w, *more)
    return np.asarray(made[0]).astype(np.float64), expected, bound


@pytest.mark.sampled(40)
@pytest.mark.parametrize("target", ["emulator", GPU])
@pytest.mark.parametrize("product", PRODUCTS, ids=str)
def test_numbers(product: Product, target: str) -> None:
    for seed, lengths in enumerate(LENGTHS):
        found, expected, bound = results(product, target, lengths, seed)
        assert found.shape == expected.shape
        assert (np.abs(found - expected) <= bound).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_random_products(seed: int) -> None:
    rng = np.random.default_rng(seed)
    k, n = (int(rng.choice([1, 2, 7, 8, 16, 31, 32, 33, 64, 65, 96, 128, 129])) for _ in range(2))
    grouped, turned, bias, added = (bool(rng.integers(2)) for _ in range(4))
    product = Product(str(rng.choice(["f16", "bf16", "f32"])), k, n, grouped, turned, bias, added and not bias)
    target = GPU if seed % 2 else "emulator"
    for skew in (1.5, 4.0):
        lengths = [int(x) for x in np.minimum(rng.zipf(skew, 30) - 1, 300)]
        found, expected, bound = results(product, target, lengths, seed)
        assert (np.abs(found - expected) <= bound).all()


def counted(program: Any, *given: Any) -> int:
    """How many kernels of a traced program have the schedule."""
    return str(program.lower(*given).gpu_stages["map"]).count('schedule = "contract"')


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["emulator", GPU])
@pytest.mark.parametrize("dtype", ["f16", "f32"])
def test_sums_over_the_rows_of_components(dtype: str, target: str) -> None:
    """Each component has a whole matrix as its result."""
    lengths, rng = np.array([0, 3, 70, 0, 129]), np.random.default_rng(0)
    x, y = (rg.from_lengths(rng.standard_normal((202, n)).astype(NUMPY[dtype]), lengths) for n in (24, 150))
    program = rg.jit(lambda x, y: rg.ragged_dot(x, y, mode="contraction"), target=target)
    assert counted(program, x, y) == 1
    found = on_host(program(x, y)).astype(np.float64)
    wide = [(np.asarray(a).astype(np.float64), np.asarray(b).astype(np.float64)) for a, b in zip(x, y, strict=True)]
    expected = np.stack([a.T @ b for a, b in wide])
    size = np.stack([np.abs(a).T @ np.abs(b) for a, b in wide])
    assert (np.abs(found - expected) <= size * 2.0**-20 + np.abs(expected) * np.finfo(NUMPY[dtype]).eps).all()


def test_gradients_of_weights() -> None:
    """The product and its transpose, which fusion puts into one loop, are two kernels."""
    lengths, rng = [0, 3, 70, 0, 29], np.random.default_rng(0)
    x = rg.from_lengths(rng.standard_normal((102, 24)).astype(np.float32), lengths)
    w = rng.standard_normal((5, 24, 40)).astype(np.float32)
    program = rg.jit(lambda x, w: rg.grad(lambda w: (rg.ragged_dot(x, w) ** 2).sum())(w), target="emulator")
    assert counted(program, x, w) == 2
    wide = [np.asarray(a).astype(np.float64) for a in x]
    expected = np.stack([2 * a.T @ (a @ b) for a, b in zip(wide, w.astype(np.float64), strict=True)])
    np.testing.assert_allclose(program(x, w), expected, rtol=1e-5, atol=1e-3)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("lengths", [[], [0], [600, 0, 1500]], ids=str)
def test_gradients_of_shared_weights(lengths: list[int]) -> None:
    """The sum over all rows is made by several blocks, whose parts have the extents of `w`: one is known behind the
    check of the product alone."""
    rng = np.random.default_rng(0)
    x = rg.from_lengths(rng.standard_normal((sum(lengths), 33)).astype(np.float32), lengths)
    w = rng.standard_normal((33, 5)).astype(np.float32)
    program = rg.jit(lambda x, w: rg.grad(lambda w: ((x @ w) ** 2).sum())(w), target="emulator")
    assert counted(program, x, w) == 2
    assert "memref<?x?x5xf32>" in str(program.lower(x, w).gpu_stages["loops"])
    wide = np.asarray(x.values).astype(np.float64)
    np.testing.assert_allclose(program(x, w), 2 * wide.T @ (wide @ w.astype(np.float64)), rtol=1e-5, atol=1e-2)


def test_infinite_numbers_of_f32() -> None:
    """Those whose parts cannot be multiplied: sums are what plain arithmetic makes of them."""
    x, w = np.ones((5, 40), np.float32), np.ones((2, 40, 9), np.float32)
    x[1, 3], x[2, 0], x[3, 39], w[1, 5, 2], w[0, 0, 0] = np.inf, -np.inf, np.nan, np.inf, 0
    found = compiled(Product("f32", 40, 9), "emulator")((x, np.array([0, 3, 5])), w)[0]
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, np.concatenate([x[:3] @ w[0], x[3:] @ w[1]]))


@pytest.mark.parametrize(("left", "right"), [(1e-37, 1e37), (1e-40, 1e38), (1e-43, 1e30), (3.4e38, 1e-38), (2e37, 1)])
def test_small_and_large_numbers_of_f32(left: float, right: float) -> None:
    """None of their bits is lost, nor is a sum where only parts of it are infinite."""
    rng = np.random.default_rng(0)
    x, w = (rng.choice([-1, 0.7, 1], (4, 17)) * left).astype(np.float32), np.full((1, 17, 8), right, np.float32)
    found = compiled(Product("f32", 17, 8), "emulator")((x, np.array([0, 4])), w)[0]
    wide, own = x.astype(np.float64), w[0].astype(np.float64)
    bound = np.abs(wide) @ own * 2.0**-20 + np.ldexp(17.0, -150) * (own[0] + np.abs(wide).max() + 1)
    assert (np.abs(found - wide @ own) <= bound).all()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("product", PRODUCTS, ids=str)
def test_what_fits(product: Product) -> None:
    copied = product.added and product.grouped  # into the result, by a third op
    assert schedules_of(product.text()).count("contract") == (not copied)
    assert "contract" not in schedules_of(product.text(), "general")


@pytest.mark.parametrize(
    ("old", "new"),
    [("f16", "f64"), ("arith.mulf %a1, %b1", "arith.addf %a1, %b1"), ("arith.addf %c, %m", "arith.subf %c, %m")],
)
def test_what_does_not(old: str, new: str) -> None:
    text = Product("f16", 16, 16).text().replace(old, new)
    text = text.replace("extf %a : f64", "truncf %a : f64").replace("extf %b : f64", "truncf %b : f64")
    assert "contract" not in schedules_of(text)


def contraction(dtype: str, k: int, n: int) -> str:
    """The program of sums over the rows of components, of k x n results."""
    x, y = (rg.from_lengths(np.zeros((5, extent), NUMPY[dtype]), [2, 3]) for extent in (k, n))
    return rg.jit(lambda x, y: rg.ragged_dot(x, y, mode="contraction")).lower(x, y).source


ARCHS = ["sm_80", *(pytest.param(arch, marks=pytest.mark.slow) for arch in ("sm_90", "sm_100"))]
UNALIGNED = [
    Product("f16", 127, 3, bias=True),
    Product("bf16", 129, 100, turned=True, bias=True),
    Product("f16", 255, 33, bias=True),
    Product("bf16", 100, 16, turned=True, bias=True, grouped=False),
    Product("f16", 64, 129),
    Product("f16", 256, 17, bias=True, grouped=False),
    Product("f32", 129, 128, bias=True),
]
"""Products of which many elements are read one by one."""


@pytest.mark.sampled(2)
@pytest.mark.ptx
@pytest.mark.parametrize(
    "product", [LONG, UNALIGNED[0], *(pytest.param(x, marks=pytest.mark.slow) for x in UNALIGNED[1:]), *SLOW], ids=str
)
@pytest.mark.parametrize("arch", ARCHS)
def test_machine_code(product: Product, arch: str) -> None:
    """Nothing is spilled, 512 threads fit on a multiprocessor, of f32 384 or 256; where there are copies, a warp makes
    32 products a step, among no more than so many instructions."""
    aligned = product.k % 8 == 0 and product.n % 8 == 0
    report = assert_unspilled(product.text(), arch, 128 if product.dtype != "f32" else 168 if aligned else 255)
    if report.sass is not None and product == LONG:
        main = max(report.sass.loops, key=lambda loop: loop.products)
        assert main.products == 32
        assert main.instructions <= MAIN_LOOP


@pytest.mark.ptx
@pytest.mark.sampled(12)
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize(("dtype", "k", "n"), [
    ("f16", 31, 33), ("bf16", 129, 100), ("f32", 31, 33), ("f32", 129, 100), ("f32", 127, 129), ("f32", 128, 128),
])  # fmt: skip
def test_machine_code_of_sums_over_rows(dtype: str, k: int, n: int, arch: str) -> None:
    assert_unspilled(contraction(dtype, k, n), arch, 128 if dtype != "f32" else 168 if k % 8 == n % 8 == 0 else 255)


EXTENTS = (1, 3, 5, 7, 8, 16, 17, 31, 33, 64, 65, 100, 127, 128, 129, 255, 256)


@pytest.mark.ptx
@pytest.mark.slow
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("seed", range(50))
def test_nothing_is_spilled(seed: int, arch: str) -> None:
    rng = np.random.default_rng(seed)
    dtype, (k, n) = str(rng.choice(["f16", "bf16", "f32"])), (int(x) for x in rng.choice(EXTENTS, 2))
    grouped, turned, bias = (bool(rng.integers(2)) for _ in range(3))
    product = Product(dtype, k, n, grouped, turned, bias)
    assert_unspilled(product.text() if rng.integers(4) else contraction(dtype, k, n), arch, 255)


def assert_unspilled(text: str, arch: str, registers: int) -> KernelReport:
    """What ptxas makes of the kernel of a program's product: nothing is spilled, of no more than so many registers."""
    module: Any = load_module(text, context(), "product")
    for stage in gpu_pipeline():
        stage.run(module)
    report = max(check(emit(kernels_to_llvm(module), arch), arch), key=lambda report: report.shared)
    assert (report.spill_stores, report.spill_loads, report.stack, report.warnings) == (0, 0, 0, ())
    assert report.registers <= registers
    return report


@pytest.mark.parametrize("columns", range(8, 264, 8))
def test_rows_of_matrices_are_in_different_banks(columns: int) -> None:
    """The eight rows of 16 bytes that `ldmatrix` reads at once cover the 32 banks of 4 bytes."""
    stride = row_stride(columns)
    assert stride >= columns
    assert stride % 8 == 0
    for chunk in range(columns // 8):
        rows = {((row * stride + 8 * chunk) * 2 // 4 + word) % 32 for row in range(8) for word in range(4)}
        assert len(rows) == 32


@pytest.mark.parametrize("chunks", [1, 2, 4, 8, 16, 32])
def test_swizzled_rows_of_matrices_are_in_different_banks(chunks: int) -> None:
    """As above, of eight rows and of eight chunks that follow each other; no two chunks are in one place."""
    same, numbers = swizzling(chunks)
    place = [[row * chunks + (chunk ^ (row // same % numbers)) for chunk in range(chunks)] for row in range(64)]
    assert sorted(at for row in place for at in row) == list(range(64 * chunks))
    for first in range(0, 64, 8):
        for chunk in range(chunks):
            assert len({place[row][chunk] % 8 for row in range(first, first + 8)}) == 8
    following = [at for row in place for at in row]
    assert all(len({at % 8 for at in following[k : k + 8]}) == 8 for k in range(0, len(following), 8))
