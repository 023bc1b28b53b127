"""Words for LLVM dialect text: constants, memory, branches and a search."""

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


def loads(kind: str = "i64", **places: str) -> str:
    """What is in places, by name."""
    return "\n  ".join(f"%{name} = llvm.load %{place} : !llvm.ptr -> {kind}" for name, place in places.items())


def stores(kind: str = "i64", **values: str) -> str:
    """Put values into places, which are the names."""
    return "\n  ".join(f"llvm.store %{value}, %{place} : {kind}, !llvm.ptr" for place, value in values.items())


def zeros(name: str, struct: str, alignment: int) -> str:
    """A variable of the process, of zeros at first."""
    return f"""llvm.mlir.global internal @{name}() {{alignment = {alignment} : i64}} : {struct} {{
  %0 = llvm.mlir.zero : {struct}
  llvm.return %0 : {struct}
}}"""


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
