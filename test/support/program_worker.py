"""Compiles and runs one random program after another in one process, and compares with the reference.

Reads lines of JSON, `[seed, target, moved, optimised]`, or the name of a program of `HOISTED` and a number of
iterations in place of a seed; answers each with a line: null, or what is wrong. With
`moved` passes of MLIR that move ops are put between all passes that come before the checks are lowered; LLVM
does not optimise unless `optimised`, which takes half of the time.
Erasing an op that is in use, which crashes later or never, is an error here.
"""

from __future__ import annotations

import json
import os
import random
import re
import resource
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from support import chunks
from support.flow_programs import HOISTED, damaged, flow_program
from support.structures import assert_same

import ragged_dialect
from ragged_dialect._mlir import execution_engine, ir
from ragged_dialect.errors import AllocationError, RuntimeCheckError
from ragged_dialect.lowering import pipelines
from ragged_dialect.lowering.stage import Stage
from ragged_dialect.reference import run
from ragged_dialect.types import shape_of

_MOVES = (
    "func.func(loop-invariant-code-motion)",
    "func.func(control-flow-sink)",
    "cse",
    "inline{default-pipeline=cse}",
)
_REFERENCE_SECONDS = 20
_REFUSED = "expected whole buffers on the host"
"""Columns of dense tensors do not pass through control flow on GPUs."""
_PASS = re.compile(r"(?:[^,{(]|\{[^}]*\}+|\([^)]*\)+)+")


Moves = Callable[[Sequence[str]], list[str]]
"""Which of the passes that may stand at a place do stand there."""


def moved(stages: Sequence[Stage], moves_of: Moves) -> list[Stage]:
    """Stages with moves after every pass until the checks are lowered."""
    out: list[Stage] = []
    lowered = False
    moves = _MOVES
    for stage in stages:
        passes: list[str] = []
        for text in _PASS.findall(stage.text):
            lowered = lowered or text.startswith("convert-ragged-checks")
            if text == "ragged-canonicalize":  # before, it folds tiles of static shape to constants
                moves = (*_MOVES, "sccp")
            passes.append(text)
            passes += [] if lowered or text == "ragged-infer-layouts" else moves_of(moves)
        out.append(Stage(stage.name, ",".join(passes)))
    return out


def check_erasures() -> None:
    """Raise where an op is erased whose results, or arguments of whose blocks, are used outside of it."""
    base = next(c for c in ir.Operation.__mro__ if "erase" in c.__dict__)
    erase = base.erase

    def checked(self: Any) -> None:
        root = self.operation

        def visit(op: Any) -> Any:
            blocks = [block for region in op.regions for block in region.blocks]
            for value in (*op.results, *(a for block in blocks for a in block.arguments)):
                for use in value.uses:
                    assert _within(use.owner.operation, root), f"erased {root.name} while {use.owner.name} uses it"
            return ir.WalkResult.ADVANCE

        root.walk(visit)
        erase(self)

    base.erase = checked


def _within(op: Any, root: Any) -> bool:
    while op is not None and op != root:
        op = op.parent.operation if op.parent is not None else None
    return op is not None


def _in_time(call: Any) -> Any:
    """The outcome of a call; None where it takes long: the interpreter makes a list of 2^40 groups of nothing, for
    which a compiled program may have no memory either."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(_REFERENCE_SECONDS)
    try:
        return _outcome(call)
    except (TimeoutError, MemoryError):
        return None
    finally:
        signal.alarm(0)


def _outcome(call: Any) -> Any:
    try:
        return call()
    except RuntimeCheckError as error:
        return error


_Engine = execution_engine.ExecutionEngine


def answer(which: int | list[Any], target: str, moves: bool, optimised: bool) -> str | None:
    """What is wrong with a program, None if nothing is."""
    engine = _Engine if optimised else lambda module, **options: _Engine(module, **{**options, "opt_level": 0})
    execution_engine.ExecutionEngine = engine
    if isinstance(which, list):
        name, count = which
        text, args = HOISTED[name]
        return _wrong(text, [*args, count], target, lambda choices: [choices[0]])
    rng = random.Random(which)
    program = flow_program(which)
    args = program.args if rng.random() < 0.6 else damaged(program.args, rng)
    with chunks.of(8 if which // 2 % 2 else None):
        return _wrong(program.text, args, target, _some(rng) if moves else lambda choices: [])


def _some(rng: random.Random) -> Moves:
    return lambda choices: rng.choices(choices, k=rng.randint(0, 3))


def _wrong(text: str, args: list[Any], target: str, moves: Moves) -> str | None:
    expected = _in_time(lambda: run(text, "f", args))
    if expected is None and target != "cpu":
        return None  # the emulator makes every turn of the loop too: nothing is optimised
    if expected is None:
        execution_engine.ExecutionEngine = _Engine  # what is not optimised makes every turn of empty loops too
    cpu, gpu = pipelines.cpu_pipeline, pipelines.gpu_pipeline
    try:
        pipelines.cpu_pipeline = lambda *a, **k: tuple(moved(cpu(*a, **k), moves))
        pipelines.gpu_pipeline = lambda *a, **k: tuple(moved(gpu(*a, **k), moves))
        compiled = ragged_dialect.compile(text, "f", target)
        got = _outcome(lambda: compiled(*args))
        if expected is not None:
            _compare(text, got, expected)
    except Exception as error:
        if (target != "cpu" and _REFUSED in str(error)) or (expected is None and isinstance(error, AllocationError)):
            return None
        return f"{type(error).__name__}: {error}\n{text}\n{args}\n{expected}"
    finally:
        pipelines.cpu_pipeline, pipelines.gpu_pipeline = cpu, gpu
    return None


def _compare(text: str, got: Any, expected: Any) -> None:
    if isinstance(got, RuntimeCheckError) or isinstance(expected, RuntimeCheckError):
        both = isinstance(got, RuntimeCheckError) and isinstance(expected, RuntimeCheckError)
        assert both, f"got {got}"
        return
    types = re.match(r"func.func @f\([^{]*\)\s+-> \(?([^{]*?)\)? \{\n", text)
    assert types is not None
    found = list(got) if len(expected) > 1 else [got]
    with ragged_dialect.dialect.context(), ir.Location.unknown():
        parsed = ir.FunctionType(ir.Type.parse(f"() -> ({types[1]})")).results
        for type_, a, b in zip(parsed, found, expected, strict=True):
            if isinstance(type_, ir.RankedTensorType):
                assert_same(shape_of(type_), a, b)
            else:
                np.testing.assert_array_equal(a, b)


def main() -> None:
    """Answer until the input ends."""
    # Damaged offsets may be those of billions of empty components: an AllocationError, and not the end of the process.
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    resource.setrlimit(resource.RLIMIT_AS, (physical * 3 // 4, resource.RLIM_INFINITY))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    check_erasures()
    for line in sys.stdin:
        print(json.dumps(answer(*json.loads(line))), file=answers, flush=True)


main()
