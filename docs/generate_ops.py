"""Writes `docs/ops.md` from the op classes and their lit files.

`python docs/generate_ops.py` writes it; with `--check` it writes nothing and exits with 1 when it is out of date.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from generated import write_or_check  # noqa: E402  (the repository comes first on the path)

from ragged_dialect import ops  # noqa: E402
from ragged_dialect._mlir import ir  # noqa: E402
from ragged_dialect.asm.module import load_module, print_module  # noqa: E402
from ragged_dialect.dialect import context  # noqa: E402
from ragged_dialect.errors import PassError  # noqa: E402
from ragged_dialect.ops.base import MixedOp  # noqa: E402
from ragged_dialect.passes.pipeline import parse_pipeline  # noqa: E402
from ragged_dialect.passes.running import run_pipeline  # noqa: E402

_FAMILIES = ("structure", "access", "making", "attention", "checks")
_LOWERED = "ragged-infer-layouts,convert-ragged-to-scf,canonicalize,cse"
_KINDS = {
    "RankedTensorType": "tensor", "IndexType": "index", "IntegerAttr": "integer", "StringAttr": "string",
    "DenseI64ArrayAttr": "array of i64", "DenseI32ArrayAttr": "array of i32", "UnitAttr": "unit", "Attribute": "any",
    "FloatAttr": "float",
}  # fmt: skip


def classes(family: str) -> list[Any]:
    """The op classes of a file, by name."""
    here = [op for op in ops.OPS.values() if op.__module__ == f"ragged_dialect.ops.{family}"]
    return sorted(here, key=lambda op: op.OPERATION_NAME)


def _fields(op: Any, kind: str) -> Iterator[str]:
    for field in op._fields:
        if type(field).__name__ == kind and not re.fullmatch(r"g\d+", field.name):
            constraint = getattr(field.constraint, "__name__", "")
            yield f"`{field.name}`: {_KINDS.get(constraint, 'any type')}"


def signature(op: Any) -> str:
    """Operands, attributes, results and traits as a list."""
    operands = list(_fields(op, "OperandDef"))
    if issubclass(op, MixedOp):
        operands.append("any number of tensors, vectors and indices, of types that may differ")
    required = [f for f in _fields(op, "AttributeDef") if "operandSegmentSizes" not in f]
    optional = [f"`{name}` (optional)" for name in op.optional]
    rows = {
        "Operands": operands,
        "Attributes": required + optional,
        "Results": list(_fields(op, "ResultDef")),
        "Traits": [f"`{trait.__name__}`" for trait in op._traits],
    }
    return "\n".join(f"- {name}: {', '.join(items) or 'none'}" for name, items in rows.items())


def example(op: Any) -> str:
    """The first function with the op of its round trip test, as text that parses."""
    stem = op.OPERATION_NAME.removeprefix("ragged.").replace("_", "-")
    text = (ROOT / "lit_tests" / "dialect" / f"{stem}.mlir").read_text()
    program = re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE)
    made = context()
    module = load_module(program, made)
    for function in module.body.operations:
        if f"{op.OPERATION_NAME} " in print_module(function):
            return print_module(function)
    raise AssertionError(f"expected an example of {op.OPERATION_NAME} in {stem}.mlir, got none")


def after(program: str, pipeline: str) -> Any:
    """The module after passes; None where a pass refuses it."""
    module = load_module(program, context())
    try:
        run_pipeline(module, parse_pipeline(pipeline, module.context))
    except PassError:
        return None
    return module


def _names(module: Any) -> Counter[str]:
    found: Counter[str] = Counter()

    def visit(op: Any) -> Any:
        found[op.name] += 1
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def checks(program: str) -> str:
    """The checks that are inserted for the example."""
    before, inserted = _names(load_module(program, context())), after(program, "ragged-insert-checks")
    names = sorted((_names(inserted) - before).keys()) if inserted is not None else []
    asserts = [f"`{name}`" for name in names if "assert" in name or name == "ragged.guard"]
    return f"- Checks of the example: {', '.join(asserts) or 'none'}"


def section(op: Any) -> str:
    """All there is to say of an op."""
    program = example(op)
    lowered = after(program, _LOWERED)
    shown = "" if lowered is None else print_module(lowered.body.operations[0])
    documented = inspect.cleandoc(op.__doc__ or "")
    parts = [f"### `{op.OPERATION_NAME}`", documented, f"{signature(op)}\n{checks(program)}"]
    if "vector<" in shown:
        shown = ""  # of the width that this machine has
    if shown and "ragged." not in re.sub(r"#ragged\S+|ragged\.\w+ =", "", shown):
        code = f"```mlir\n{program.rstrip()}\n```\n\n```mlir\n{shown.rstrip()}\n```"
        parts.append(f"<details><summary>Lowered by <code>{_LOWERED}</code></summary>\n\n{code}\n\n</details>")
    return "\n\n".join(parts)


def page() -> str:
    """The whole page: every op of every family."""
    parts = [
        "# Ops",
        "Generated by `docs/generate_ops.py` from the op classes, and from the first function of each op's round trip "
        "test. [layouts.md](layouts.md) says what the letters mean, [support.md](support.md) on which layouts an op "
        "works.",
    ]
    for family in _FAMILIES:
        parts.append(f"## {family.capitalize()}")
        parts += map(section, classes(family))
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write or check the page."""
    return write_or_check({ROOT / "docs" / "ops.md": page()}, __file__, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
