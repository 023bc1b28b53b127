"""Traced values outside of their function, and asked for what only a call knows."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.components import array, assert_components, components

import ragged_dialect as rg

LENGTHS = (3, 0, 5, 1)

LEAKS = (
    "print(repr(kept), str(scalar))",
    "x + kept",
    "x + scalar",
    "np.exp(kept)",
    "kept[0]",
    "x[:, :scalar]",
    "rg.jit(lambda y: y + kept)(x)",
    "rg.jit(lambda y: kept * 2)(x)",
    "rg.jit(lambda y: kept)(x)",
    "rg.jit(lambda y: y + 1)(kept)",
    "kept.value",
    "kept.storage",
    "with ThreadPoolExecutor() as pool: pool.submit(lambda: rg.jit(lambda y: y + kept)(x)).result()",
)
"""Uses of values that left their function. All but the first end in a TraceError."""

_PROGRAM = """
import gc, sys
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import ragged_dialect as rg
x = rg.from_lengths(np.arange(6.0), [2, 0, 4])
left = []
@rg.jit
def leaking(x):
    left.extend([x, x.sum()])
    return x * 2
leaking(x)
kept, scalar = left
for use in sys.argv[1:]:
    try:
        exec(use)
    except rg.TraceError as error:
        assert "expected a value of the function that is traced, got one that left the jit function '" in str(error)
        assert "'leaking' (return it from there)" in str(error), (use, error)
    else:
        assert use.startswith("print"), use
kept = scalar = left[:] = ()
gc.collect()
assert leaking(x).tolist() == [[0, 2], [], [4, 6, 8, 10]]
"""


def test_values_that_left_their_function() -> None:
    """In a process of its own, which they crashed."""
    done = subprocess.run([sys.executable, "-c", _PROGRAM, *LEAKS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "of jit function leaking" in done.stdout


def test_an_inner_function_reads_what_is_traced_around() -> None:
    outer = rg.jit(lambda x: rg.jit(lambda y: y + x)(np.ones((3, 1))))
    assert outer(rg.ragged([[1.0, 2.0], [], [3.0]])).tolist() == [[2, 3], [], [4]]


def test_the_outer_function_goes_on_after_an_inner_one() -> None:
    inner = rg.jit(lambda y: y * 3)
    x, y = array(LENGTHS), array(LENGTHS, seed=1)
    made = rg.jit(lambda x: x + inner(y))(x)
    assert_components(made, [a + 3 * b for a, b in zip(components(x), components(y), strict=True)])


def test_static_leading_dims_unroll() -> None:
    w = np.arange(6, dtype=np.float32).reshape(3, 2)

    def columns(w: Any) -> Any:
        a, b = np.transpose(w)
        return a + b, sum(np.transpose(w)), [c * 2 for c in np.transpose(w)], len(np.transpose(w))

    both, total, doubled, count = rg.jit(columns)(w)
    np.testing.assert_array_equal(both, w.sum(1))
    np.testing.assert_array_equal(total, w.sum(1))
    np.testing.assert_array_equal(doubled, 2 * w.T)
    assert count == 2


def test_copies_are_the_value_itself() -> None:
    x = array(LENGTHS)
    assert_components(rg.jit(lambda x: copy.copy(x) + copy.deepcopy([x])[0])(x), [2 * c for c in components(x)])


def test_what_is_known_of_a_traced_value() -> None:
    def shown(x: Any) -> Any:
        return repr(x), x.nlevels, list(x.ragged_dims), x.device, x.ndim, str(x.layout)

    text = 'Tensor((?, ~, 4), float32, "dr|d", of jit function shown)'
    assert rg.jit(shown)(array(LENGTHS)) == (text, 1, [1], "cpu", 3, "dr|d")


ASKED: list[tuple[Callable[[Any], Any], str]] = [
    (list, "got an iteration"),
    (sum, "got an iteration"),
    (lambda x: [c for c in x], "only calls know its extent"),
    (lambda x: rg.ragged(x), "got an iteration"),
    (lambda x: x.sum().__iter__(), "got an iteration"),
    (len, "got its length"),
    (lambda x: len(x.sum()), "got its length"),
    (lambda x: 1.0 in x, "(use (x == number).any())"),
    (lambda x: float(x.sum()), "got a number of Python"),
    (lambda x: int(x.sum()), "got a number of Python"),
    (lambda x: [1, 2][x.sum()], "got a number of Python"),
    (lambda x: complex(x.sum()), "got a number of Python"),
    (np.asarray, "got NumPy's array of it"),
    (lambda x: np.asarray([x, x]), "got NumPy's array of it"),
    (lambda x: np.arange(9.0)[rg.astype(x, np.int64)], "rg.stack for an array of several, rg.partition for new "),
    (pickle.dumps, "got a pickle"),
    (rg.empty_like, "got empty_like in jit function 'asked' (use np.zeros_like(x))"),
    (lambda x: rg.from_lengths(np.zeros(9), x.sum(2)), "rg.partition for new structures"),
    (lambda x: x.nbytes, "got nbytes in jit function 'asked' (pass it as an argument"),
    (lambda x: x.grad, "got grad in jit function 'asked' (rg.grad and rg.value_and_grad compute gradients)"),
    (lambda x: x.to("cpu"), "got to in jit function 'asked' (move the arguments of the call)"),
    (lambda x: x.stored, "(x.values, x.lengths, x.offsets and x.row_ids are traced values)"),
    (lambda x: x.unbind(), "pass them in a list"),
    (lambda x: x.tolist(), "or return the array and ask outside"),
]


@pytest.mark.parametrize(("ask", "text"), ASKED)
def test_what_only_calls_know(ask: Callable[[Any], Any], text: str) -> None:
    def asked(x: Any) -> Any:
        return ask(x)

    with pytest.raises(rg.TraceError) as caught:
        rg.jit(asked)(array(LENGTHS))
    assert text in str(caught.value)
    assert not type(caught.value).__name__.startswith("_")


def test_every_public_name() -> None:
    """Of arrays, on a tracer: a value, or an error of the project."""
    names = [name for name in dir(rg.RaggedArray) if not name.startswith("_")]

    def ask(x: Any) -> list[str]:
        refused: list[str] = []
        for name in names:
            try:
                getattr(x, name)
            except rg.TraceError:
                refused.append(name)
        return refused

    refused = rg.jit(ask)(array(LENGTHS))
    assert {"nbytes", "compacted", "to_arrow", "structure"} <= set(refused)
    assert not {"shape", "dtype", "layout", "sum", "to_padded", "device"} & set(refused)


def test_names_that_nothing_has() -> None:
    with pytest.raises(AttributeError, match="traced values have no attribute 'foo'"):
        rg.jit(lambda x: x.foo)(array(LENGTHS))
    with pytest.raises(AttributeError, match=r"attribute 'argsort' \(rg.argsort is a function\)"):
        rg.jit(lambda x: x.argsort())(array(LENGTHS))


COMPUTED: dict[str, tuple[Callable[..., Any], int, str]] = {
    "sum": (lambda a, n: a + (n + n), 100, "add: expected a number in [-128, 127], got 200"),
    "product": (lambda a, n: a + n * 2, 1000, "add: expected a number in [-128, 127], got 2000"),
    "minus": (lambda a, n: a + -n, 1000, "add: expected a number in [-128, 127], got -1000"),
    "choice": (lambda a, n: a + rg.where(n > 0, n, 0), 1000, "add: expected a number in [-128, 127], got 1000"),
    "bound": (lambda a, n: a + rg.clip(n, -300, 300), 1000, "add: expected a number in [-128, 127], got 300"),
    "cast": (lambda a, n: a + rg.astype(n * 1.5, np.int64), 100, "add: expected a number in [-128, 127], got 150"),
    "quotient": (lambda a, n: a + divmod(n, 2)[0], 1000, "add: expected a number in [-128, 127], got 500"),
    "in between": (
        lambda a, n: a + n * n // n,
        2**40,
        f"multiply: expected a number in [{-(2**63)}, {2**63 - 1}], got",
    ),
    "power": (lambda a, n: a + n**n, 1000, "], got 1000000"),
    "not used": (lambda a, n: n << 70, 1, "left_shift: expected a number in"),
}


@pytest.mark.parametrize("case", COMPUTED)
def test_numbers_that_traced_code_computes_fit(case: str) -> None:
    function, n, text = COMPUTED[case]
    x: Any = rg.from_lengths(np.array([64, 1], np.int8), [1, 1])
    later = rg.jit(function)
    later(x, 0)
    for run in (rg.jit(function), later):
        with pytest.raises(rg.RuntimeCheckError) as caught:
            run(x, n)
        assert text in str(caught.value)


def test_powers_of_numbers() -> None:
    """They are floats of negative exponents, as Python's; a program has one dtype."""
    d, x = np.arange(1.0, 5), rg.from_lengths(np.arange(4.0), [1, 3])
    for function, given in [
        (lambda d: d * d.shape[0] ** -1, (d,)),
        (lambda x: x * x.total**-1, (x,)),
        (lambda x, k: x / k**-2, (x, 4)),
        (lambda x, k: x * 2**k, (x, 3)),
        (lambda x, k: x * 2.0**-k, (x, 3)),
    ]:
        assert_as_outside(function, given)
    halves = rg.jit(lambda x, k: x * 2**-k)
    text = r"power by an exponent that calls know \(2.0 \*\* n for negative ones\): expected a number in \[0, .*got -3"
    with pytest.raises(rg.RuntimeCheckError, match=text):
        halves(x, 3)
    with pytest.raises(rg.RuntimeCheckError, match=text):
        rg.jit(lambda x, k: x * 2**k)(x, -3)


def test_what_numpy_makes_of_numbers() -> None:
    """That has a dtype which counts, where Python's gives way."""
    narrow, short = (rg.from_lengths(np.array([3, 4, 5], dtype), [1, 2]) for dtype in (np.int8, np.float16))
    for function, given in [
        (lambda x, k: x * np.maximum(k, 1), (narrow, 100)),
        (lambda x, k: x * np.exp(k), (short, 2.0)),
        (lambda x, k: x * max(1, 2) + abs(k), (narrow, 3)),
        (lambda x: x / np.sqrt(x.shape[0]), (short,)),
        (lambda x, k: x + np.where(k > 1, k, 0), (narrow, 5)),
        (lambda x: x * np.size(x, 0), (narrow,)),
    ]:
        assert_as_outside(function, given)


def assert_as_outside(function: Any, given: tuple[Any, ...]) -> None:
    own, expected = rg.jit(function)(*given), function(*given)
    assert own.dtype == expected.dtype
    parts = (own, expected) if isinstance(own, np.ndarray) else (own.values, expected.values)
    np.testing.assert_allclose(*parts, rtol=1e-6)


def test_computed_numbers_are_those_of_python() -> None:
    x: Any = rg.from_lengths(np.array([1, -2], np.int8), [1, 1])

    def function(a: Any, n: Any, f: Any) -> Any:
        halved = n // (n - n)  # by 0
        return a + (n + n) // 3 + halved, a * (f * 2.0), n << 3, rg.where(n > 4, f, n), np.sqrt(f) / 0.0

    wide, scaled, shifted, chosen, infinite = rg.jit(function)(x, 60, 0.25)
    assert (wide.tolist(), scaled.tolist(), shifted, chosen, infinite) == (
        [[41], [38]],
        [[0.5], [-1.0]],
        480,
        0.25,
        np.inf,
    )


@pytest.mark.parametrize("module", ["ragged_insert_checks", "differentiate.flow"])
def test_what_a_handler_of_signals_raises_is_raised(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    """In the midst of a rule, after which all goes on as before."""
    x = array((3, 0, 2))
    step = rg.jit(lambda x: rg.grad(lambda x: (x * x).sum())(x))

    def late(*_: object) -> object:
        raise TimeoutError("late")

    with monkeypatch.context() as patched:
        name = "rule_of" if module == "ragged_insert_checks" else "_rule"
        patched.setattr(f"ragged_dialect.passes.{module}.{name}", lambda *_: late)
        with pytest.raises(TimeoutError, match="late"):
            step(x)
    assert step(x).tolist() == (x * 2).tolist()
