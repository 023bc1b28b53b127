"""Reading the LLVM IR that LLVM prints: types, operands, lists.

LLVM prints parsed modules in one canonical spelling, which makes lines a regular grammar.
"""

from __future__ import annotations

import re

from ragged_dialect.errors import EmulatorError

_FLOATS = {"half": 2, "bfloat": 2, "float": 4, "double": 8}
_VECTOR = re.compile(r"[<\[](\d+) x (.*)[>\]]")
_OPENING, _CLOSING = "(<{[", ")>}]"


def split_list(text: str) -> list[str]:
    """The parts of a list at its top-level commas, without surrounding blanks."""
    parts, depth, start = list[str](), 0, 0
    for position, character in enumerate(text):
        if character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def closing(text: str, start: int) -> int:
    """Where the bracket that opens at `start` closes."""
    depth = 0
    for position in range(start, len(text)):
        depth += (text[position] in _OPENING) - (text[position] in _CLOSING)
        if depth == 0:
            return position
    raise EmulatorError(f"expected balanced brackets, got {text}")


def leading_type(text: str) -> str:
    """The type that a typed operand starts with: `<4 x float>` of `<4 x float> %3`."""
    if text[0] in "<{[":
        return text[: closing(text, 0) + 1]
    match = re.match(r"ptr addrspace\(\d+\)|\w+", text)
    if match is None:
        raise EmulatorError(f"expected a typed operand, got {text}")
    return match[0]


def leading_operand(text: str) -> str:
    """The operand that a text starts with: a name, or a constant expression to its last bracket."""
    if text[0] in "%@":
        return text.split(" ", 1)[0]
    opening = text.find("(")
    if opening < 0:
        return text.split(" ", 1)[0]
    # The flags of a constant expression stand before its bracket.
    return text[: closing(text, opening) + 1]


def type_size(kind: str) -> int:
    """Bytes that a scalar, vector or array takes in memory; EmulatorError for other types."""
    match = _VECTOR.fullmatch(kind)
    if match:
        count, element = int(match[1]), match[2]
        bits = _bits(element)
        # Vectors of odd integers are packed, to whole bytes.
        return -(-count * bits // 8) if kind[0] == "<" and bits else count * type_size(element)
    if kind in _FLOATS:
        return _FLOATS[kind]
    if kind.startswith("ptr"):
        return 8
    bits = _bits(kind)
    if not bits:
        raise EmulatorError(f"expected a scalar, vector or array in memory, got {kind}")
    return 1 << ((bits + 7) // 8 - 1).bit_length()


def natural_alignment(kind: str) -> int:
    """Bytes that a type is aligned to where nothing else is said."""
    match = _VECTOR.fullmatch(kind)
    if match and kind[0] == "[":
        return natural_alignment(match[2])
    return 1 << (type_size(kind) - 1).bit_length()


def element_size(kind: str) -> int:
    """Bytes of what a vector or array, however deep, consists of."""
    match = _VECTOR.fullmatch(kind)
    return element_size(match[2]) if match else type_size(kind)


def _bits(kind: str) -> int:
    return int(kind[1:]) if re.fullmatch(r"i\d+", kind) else 0
