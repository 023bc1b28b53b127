"""What `test_memory.py` runs in processes of their own: programs on allocators of the tests'."""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from support.allocators import FailingAllocator, install
from support.structures import text_of
from support.threaded_programs import OFFSETS, PROGRAMS, VALUES, X

import ragged_dialect as rg
from ragged_dialect import RaggedError, RuntimeCheckError, compile

CONCAT = [f"%0 = ragged.concat %a0, %a0 {{dim = 0}} : ({X}, {X}) -> {X}"]
CALLS = f"""
func.func private @inner(%x: {X}) -> ({X}, {X}) {{
  %e = ragged.empty %x : ({X}) -> {X}
  %0 = linalg.softmax dimension(1) ins(%x : {X}) outs(%e : {X}) -> {X}
  %1 = math.exp %0 : {X}
  return %0, %1 : {X}, {X}
}}
func.func @f(%x: {X}, %n: index) -> ({X}, {X}, tensor<?x8xf32>, {X}) {{
  %0:2 = func.call @inner(%x) : ({X}) -> ({X}, {X})
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %1 = scf.for %i = %c0 to %n step %c1 iter_args(%y = %0#1) -> ({X}) {{
    %2:2 = func.call @inner(%y) : ({X}) -> ({X}, {X})
    scf.yield %2#1 : {X}
  }}
  %v = ragged.values %1 : ({X}) -> tensor<?x8xf32>
  return %0#0, %1, %v, %0#0 : {X}, {X}, tensor<?x8xf32>, {X}
}}
"""


def cases() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls by name: of programs, and of operations on arrays."""
    argument = (VALUES, OFFSETS)
    for name, (body, result) in {**PROGRAMS, "concat": (CONCAT, X)}.items():
        function = compile(text_of([X], body, [("%0", result)]))
        yield name, lambda function=function: function(argument)
    nested = compile(CALLS, "f")
    yield "nested calls", lambda: nested(argument, 2)
    array = rg.from_offsets(*argument)
    yield "array operations", lambda: rg.softmax(array * 2.0, axis=1).sum(1)
    several = rg.jit(lambda x: (x + 1, rg.concat([x, x]), x.max(1), x.sum()))
    yield "jit", lambda: several(array)


def arrays_in(value: Any) -> list[bytes]:
    """The bytes of a result."""
    if isinstance(value, (tuple, list)):
        return [data for part in value for data in arrays_in(part)]
    if isinstance(value, rg.RaggedArray):
        return [value.values.tobytes(), np.asarray(value.offsets).tobytes()]
    return [np.asarray(value).tobytes()]


def fail_every_allocation() -> None:
    """Every allocation of every case fails once: nothing stays allocated, and the next call works."""
    allocator = FailingAllocator()
    install(allocator)
    gc.disable()  # memory is given back with the last reference
    for name, call in cases():
        arrays_in(call())  # what is compiled, or kept, the first time
        before = len(allocator.live)
        allocator.start()
        expected = arrays_in(call())
        count = allocator.count
        assert count, name
        assert len(allocator.live) == before, (name, "leak of a call that works")
        failed = sorted({*range(1, min(count, 24) + 1), *range(1, count, 61), count})
        for n in failed:
            allocator.start(n)
            try:
                call()
            except MemoryError as error:
                assert isinstance(error, RaggedError), (name, n, repr(error))
                assert "expected memory for " in str(error), (name, n, str(error))
            else:
                raise AssertionError((name, n, count, "no error"))
            assert len(allocator.live) == before, (name, n, "leak")
        allocator.start()
        assert arrays_in(call()) == expected, name
        print(name, count, len(failed), flush=True)


def too_large_sizes() -> None:
    """Sizes that a process under a limit cannot have, and sizes that wrap in 64 bits."""
    words = 'tensor<?x?x3xf32, #ragged.layout<"dr|d">>'
    body = [
        "%z = arith.constant 0.0 : f32",
        f"%0 = ragged.to_padded %a0, %z, %a1 : ({words}, f32, index) -> tensor<?x?x3xf32>",
    ]
    function = compile(text_of([words, "index"], body, [("%0", "tensor<?x?x3xf32>")]))
    pair, none = (np.ones((3, 3), np.float32), np.array([0, 1, 3])), (np.ones((0, 3), np.float32), np.array([0]))
    resource.setrlimit(resource.RLIMIT_AS, (2**32, resource.RLIM_INFINITY))
    for argument in (pair, none):
        for extent in (2**28, 2**31, 2**45, 2**60, 2**64 // 24 + 1, 2**62, 2**63 - 1):
            try:
                print(extent, function(argument, extent).shape)
            except MemoryError as error:
                assert isinstance(error, RaggedError)
                print(extent, error)
            except RuntimeCheckError as error:
                print(extent, error)
    assert function(pair, 2).shape == (2, 2, 3)


if __name__ == "__main__":
    {"fail": fail_every_allocation, "large": too_large_sizes}[sys.argv[1]]()
