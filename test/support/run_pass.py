"""Runs passes on module text, and programs of the result in the reference interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ragged_dialect._mlir import ir, passmanager
from ragged_dialect.asm.module import parse_module
from ragged_dialect.dialect import context
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.reference.interpreter import run
from ragged_dialect.verify import verify_ragged


def transform(text: str, *passes: RaggedPass | str) -> Any:
    """The module of `text` after passes; ragged types are verified after each."""
    module = parse_module(text, context())
    with module.context, ir.Location.unknown():
        assert verify_ragged(module.operation)
        for pass_ in passes:
            manager = passmanager.PassManager("builtin.module")
            if isinstance(pass_, str):
                manager.add(pass_)
            else:
                manager.add(pass_, name=type(pass_).__name__, argument=pass_.name)
            manager.run(module.operation)
            assert verify_ragged(module.operation)
    return module


def outcome(module: Any, args: Sequence[Any], check: bool = False) -> Any:
    """Results of function `f` as nested lists, or the text of the error. Checks of the ops
    themselves are off unless `check`, those in the IR always run."""
    from ragged_dialect.errors import RuntimeCheckError

    try:
        return [_plain(r) for r in run(module, "f", args, check=check)]
    except RuntimeCheckError as error:
        return str(error)


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value.tolist() if hasattr(value, "tolist") else value


def count(module: Any, name: str) -> int:
    """How many ops of a name a module has."""
    from ragged_dialect.ir.walk import ops_in

    return sum(op.name == name for op in ops_in(module.operation))


def t(layout: str, shape: str, element: str = "f32") -> str:
    """The type of a ragged tensor."""
    return f'tensor<{shape}x{element}, #ragged.layout<"{layout}">>'


def program(body: str, *arguments: str) -> str:
    """A function of arguments of some types, `%a0`, `%a1`, …, without results."""
    signature = ", ".join(f"%a{k}: {type_}" for k, type_ in enumerate(arguments))
    return f"func.func @f({signature}) {{\n{body}\nreturn\n}}"
