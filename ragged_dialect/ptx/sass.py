"""Figures of machine code, from nvdisasm's listing of a cubin."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_SECTION = re.compile(r"^\s*\.section\s+\.text\.([^,\s]+)")
_LABEL = re.compile(r"^(\.L_x_\d+):")
_INSTRUCTION = re.compile(
    r"^\s*/\*[0-9a-f]{4,}\*/\s+(?:@(?P<predicate>!?U?P\w+)\s+)?(?P<name>[A-Z][\w.]*)(?P<rest>[^;]*);"
)
_TARGET = re.compile(r"`?\(?(\.L_x_\d+)\)?")
_WIDTH = re.compile(r"\.(?:U|S)?(8|16|64|128|256)(?:\.|$)")


@dataclass(frozen=True)
class Loop:
    """An innermost loop: its instructions, loads from global memory, the widest of them in bits, and
    the bytes that they load together; the products on tensor cores."""

    instructions: int
    loads: int
    widest: int
    bytes: int
    products: int


@dataclass(frozen=True)
class Sass:
    """Counts for one kernel. `loads` and `stores` of global memory are by width in bits; `local` are
    accesses of local memory (spills and arrays)."""

    instructions: int
    loads: dict[int, int]
    stores: dict[int, int]
    local: int
    barriers: int
    shuffles: int
    calls: int
    fences: int
    loops: tuple[Loop, ...]


@dataclass(frozen=True)
class _Line:
    opcode: str
    width: int
    target: str | None


def sass_of(listing: str) -> dict[str, Sass]:
    """The figures of every kernel of a listing, by name."""
    kernels: dict[str, tuple[list[_Line], dict[str, int]]] = {}
    lines: list[_Line] = []
    labels: dict[str, int] = {}
    for text in listing.splitlines():
        section, label = _SECTION.match(text), _LABEL.match(text)
        if section is not None:
            lines, labels = kernels.setdefault(section[1], ([], {}))
        elif label is not None:
            labels[label[1]] = len(lines)
        else:
            lines.extend(_parsed(text))
    return {name: _figures(*found) for name, found in kernels.items()}


def _parsed(text: str) -> Iterator[_Line]:
    match = _INSTRUCTION.match(text)
    if match is None or match["predicate"] in ("!PT", "!UPT"):  # ptxas pads with instructions that never run
        return
    opcode, *_ = match["name"].split(".")
    if opcode == "NOP":
        return
    width = _WIDTH.search(match["name"])
    target = _TARGET.search(match["rest"]) if opcode in ("BRA", "CALL") else None
    yield _Line(opcode, int(width[1]) if width else 32, target[1] if target else None)


def _figures(lines: list[_Line], labels: dict[str, int]) -> Sass:
    loops = _innermost(lines, labels)
    if lines and lines[-1].opcode == "BRA":  # code ends in a branch to itself, which no thread reaches
        lines = lines[:-1]
    opcodes = Counter(line.opcode for line in lines)
    return Sass(
        instructions=len(lines),
        loads=_widths(lines, "LDG"),
        stores=_widths(lines, "STG"),
        local=opcodes["LDL"] + opcodes["STL"],
        barriers=opcodes["BAR"],
        shuffles=opcodes["SHFL"],
        calls=sum(line.opcode == "CALL" and line.target is None for line in lines),  # others jump in the kernel
        fences=opcodes["MEMBAR"],
        loops=loops,
    )


def _widths(lines: list[_Line], opcode: str) -> dict[int, int]:
    return dict(sorted(Counter(line.width for line in lines if line.opcode == opcode).items()))


def _innermost(lines: list[_Line], labels: dict[str, int]) -> tuple[Loop, ...]:
    """Ranges from a branch back to its label that hold no other such range."""
    ranges = [
        (labels[line.target], at)
        for at, line in enumerate(lines)
        if line.opcode == "BRA" and line.target in labels and labels[line.target] < at
    ]
    inner = [a for a in ranges if not any(b != a and a[0] <= b[0] and b[1] <= a[1] for b in ranges)]
    return tuple(_loop(lines[first : last + 1]) for first, last in sorted(inner))


def _loop(lines: list[_Line]) -> Loop:
    widths = [line.width for line in lines if line.opcode == "LDG"]
    products = sum(line.opcode == "HMMA" for line in lines)
    return Loop(len(lines), len(widths), max(widths, default=0), sum(widths) // 8, products)
