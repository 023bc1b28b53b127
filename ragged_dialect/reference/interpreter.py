"""`run`: a function of a module on plain Python values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ragged_dialect import extensions
from ragged_dialect._mlir import ir
from ragged_dialect.asm.module import parse_module
from ragged_dialect.checking.structures import check_argument_facts, check_assembled
from ragged_dialect.dialect import context
from ragged_dialect.errors import RaggedError
from ragged_dialect.reference import elementwise, loops, ragged_ops, tensors
from ragged_dialect.reference.checker import DataChecker
from ragged_dialect.reference.program import Program, Values, dtype_of_type
from ragged_dialect.reference.scalars import Data
from ragged_dialect.reference.value import Datum, RaggedValue
from ragged_dialect.types import is_ragged, is_tensor, part_type, shape_of
from ragged_dialect.verify import facts_of

DECODERS = (elementwise, loops, ragged_ops, tensors)
"""The modules whose import registers what decodes the ops."""


def run(
    module: ir.Module | str | bytes, entry: str, args: Sequence[Data | Sequence[Data]], check: bool = True
) -> list[Any]:
    """Run function `entry` of a module (or its text) on values, one per argument.

    Tensors are NumPy arrays of the type's dtype, scalars Python numbers, ragged values tuples of
    the parts of their 1:N form; the same for the results. With `check`, data that an op refuses
    raises RuntimeCheckError with the text of the run-time check. Arguments are not written.
    """
    given = parse_module(module, context()) if isinstance(module, (str, bytes)) else module
    with ir.Location.unknown(given.context), np.errstate(all="ignore"):
        extensions.modules("reference")
        program = Program(given, check)
        function = program.function(entry)
        type_ = function.attributes["function_type"].value
        if len(args) != len(type_.inputs):
            raise RaggedError(f"expected {len(type_.inputs)} arguments of '{entry}', got {len(args)}")
        values = [argument(t, value, k, check) for k, (t, value) in enumerate(zip(type_.inputs, args, strict=True))]
        if check:
            _check_facts(function, values)
        results = program.call(entry, values)
        return [flat(t, value) for t, value in zip(type_.results, results, strict=True)]


def _check_facts(function: ir.Operation, values: Values) -> None:
    """The facts that function arguments carry, which hold for every ragged level."""
    if "arg_attrs" not in function.attributes:
        return
    for number, (value, attributes) in enumerate(zip(values, function.attributes["arg_attrs"], strict=True)):
        if isinstance(value, RaggedValue):
            check_argument_facts(_checks(number), value, value.shape, facts_of(attributes))


def _checks(number: int) -> DataChecker:
    return DataChecker(f"argument {number}", {}, {})


def argument(type_: ir.Type, value: Data | Sequence[Data], number: int, check: bool) -> Datum:
    """A Python value as a value of the interpreter."""
    if not is_ragged(type_):
        return _plain(type_, value)
    shape = shape_of(type_)
    if not isinstance(value, (tuple, list)) or len(value) != len(shape.parts()):
        got = f"tuple of {len(value)}" if isinstance(value, (tuple, list)) else type(value).__name__
        raise RaggedError(f"expected a tuple of {len(shape.parts())} parts for {type_}, got {got}")
    parts = [
        _plain(part_type(part, shape, type_.element_type), given)
        for part, given in zip(shape.parts(), value, strict=True)
    ]
    if check:
        check_assembled(_checks(number), shape, parts)
    return RaggedValue.from_parts(shape, parts)


def _plain(type_: ir.Type, value: Data | Sequence[Data]) -> Data:
    if not is_tensor(type_):
        return np.asarray(value).astype(dtype_of_type(type_))[()]
    array, dtype = np.asarray(value), dtype_of_type(type_.element_type)
    if array.dtype != dtype:
        raise RaggedError(f"expected an array of {dtype}, got {array.dtype}")
    extents = [None if type_.is_dynamic_dim(k) else type_.shape[k] for k in range(type_.rank)]
    if array.ndim != len(extents) or any(e not in (None, n) for e, n in zip(extents, array.shape, strict=True)):
        raise RaggedError(f"expected an array for {type_}, got one of shape {array.shape}")
    return array


def flat(type_: ir.Type, value: Datum) -> Any:
    """A value of the interpreter as a Python value."""
    if isinstance(value, RaggedValue):
        return value.to_parts()
    return np.asarray(value) if is_tensor(type_) else np.asarray(value).item()
