"""Words for LLVM dialect text: constants, fields of a struct, branches and a search."""

from __future__ import annotations


def constants(kind: str = "i64", **named: int) -> str:
    """Integers of one type, by name."""
    return "\n  ".join(f"%{name} = llvm.mlir.constant({value} : {kind}) : {kind}" for name, value in named.items())


def fields(base: str, struct: str, **numbers: int) -> str:
    """Addresses of a struct's fields, by name."""
    return "\n  ".join(
        f"%{name} = llvm.getelementptr %{base}[0, {number}] : (!llvm.ptr) -> !llvm.ptr, {struct}"
        for name, number in numbers.items()
    )


def branch(condition: str, then: str, other: str) -> str:
    """Go to one of two blocks by a comparison, `name = predicate a, b : type`."""
    name, _, test = condition.partition(" = ")
    predicate, operands = test.split(" ", 1)
    return f'%{name} = llvm.icmp "{predicate}" {operands}\n  llvm.cond_br %{name}, ^{then}, ^{other}'


def swap(place: str, old: str, new: str, then: str, other: str, kind: str = "i64") -> str:
    """Go to one of two blocks by whether a place had one value, and has another now."""
    struct = f"!llvm.struct<({kind.removeprefix('!llvm.')}, i1)>"
    swapped = f"%swapped = llvm.cmpxchg %{place}, %{old}, %{new} acq_rel monotonic : !llvm.ptr, {kind}"
    won = f"%won = llvm.extractvalue %swapped[1] : {struct}"
    return f"{swapped}\n  {won}\n  llvm.cond_br %won, ^{then}, ^{other}"


def search(count: str, none: str) -> str:
    """Look at %k from 0 to below a count, at `^look`, which may go to `^next(%after : i64)`; then go to `none`."""
    return f"""llvm.br ^next(%zero : i64)
^next(%k: i64):
  {branch(f"more = ult %k, %{count} : i64", "look", none)}
^look:
  %after = llvm.add %k, %one : i64"""
