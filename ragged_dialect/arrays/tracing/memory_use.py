"""The memory of a call: what it holds while it runs, and what it would keep for gradients."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from ragged_dialect.arrays.tracing.building import Traceable, Traced, for_cpu, trace_function
from ragged_dialect.arrays.tracing.calls import cpu_run
from ragged_dialect.arrays.tracing.derivatives import floats
from ragged_dialect.arrays.tracing.elements import kind
from ragged_dialect.arrays.tracing.keeping import Keeping, keeping
from ragged_dialect.arrays.tracing.leaves import DenseLeaf, Leaves, leaf_spec
from ragged_dialect.arrays.tracing.program import Program
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.compiler.loading import counted
from ragged_dialect.errors import ArgumentError, PassError
from ragged_dialect.runtime.memory import MemoryUse


def measure(name: str, leaves: Leaves, body: Traceable, target: str | None = None, columns: bool = False) -> MemoryUse:
    """Run a function of tracers on the CPU, on leaves that require no gradient, and count its memory; and once more
    where it keeps something for gradients by its arrays of floats. `columns` as of `trace_function`."""
    with trace_function(name, leaves, body, columns) as traced:
        place = traced.device if target is None else target
        if place != "cpu":
            raise ArgumentError(f"{name}: expected a program for the CPU, whose memory is counted, got one for {place}")
        results, peak = _held(traced, leaves)
    given = sum(getattr(leaf.array if isinstance(leaf, DenseLeaf) else leaf, "nbytes", 0) for leaf in leaves)
    return MemoryUse(given, results, peak, _saved(name, leaves, body, columns))


def _held(traced: Traced, leaves: Leaves) -> tuple[int, int]:
    """The bytes of the results of a call, and the most that it held."""
    made = for_cpu(traced)
    with counted() as (runtime, count):
        Program(made.plan, cpu_run(made.plan, made.program, runtime), "cpu")(leaves)
        return count.used, count.peak


def _saved(name: str, leaves: Leaves, body: Traceable, columns: bool) -> int | None:
    """The bytes that a function keeps for its gradients beside its results; None where it has none."""
    specs = [leaf_spec(leaf) for leaf in leaves]
    active = [k for k, spec in enumerate(specs) if not spec.weak and kind(spec.dtype) == "f"]
    made: list[Keeping] = []

    def kept() -> list[Tensor]:
        return [x for x in made[-1].kept if isinstance(x, Tensor)] if made else []

    def run(tensors: list[Tensor]) -> Sequence[Tensor]:
        whole = [contiguous(x) if k in active else x for k, x in enumerate(tensors)]
        with suppress(PassError):  # of an operation without a derivative
            made.append(keeping(name, lambda *given: body(list(given)), whole, active, floats))
        return kept()

    with trace_function(name, leaves, run, columns) as traced:
        if not made:
            return None
        return _held(traced, leaves)[0] if kept() else 0
