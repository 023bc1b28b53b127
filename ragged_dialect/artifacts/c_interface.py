"""How the arguments and results of a function are spelled in C.

An array argument is a pointer and one `int64_t` per extent that is not static, a scalar is passed
by value, a ragged argument is its parts in order. Results are the members of one struct.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from ragged_dialect.runtime.signature import Group, Part, Signature
from ragged_dialect.symbols import in_c_library, spell

_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
# What C99, C11 and C++20 reserve, what headers define as macros everywhere, and functions of the compiled program.
_RESERVED = frozenset(
    "ragged_call ragged_set_threads assert errno alignas alignof and and_eq asm auto bitand bitor bool break "
    "case catch char class co_await co_return co_yield compl concept const const_cast consteval constexpr "
    "constinit continue decltype default delete do double dynamic_cast else enum explicit export extern false "
    "float for friend goto if inline int linux long mutable namespace new noexcept not not_eq nullptr operator "
    "or or_eq private protected public register reinterpret_cast requires restrict return short signed sizeof "
    "static static_assert static_cast struct switch template this thread_local throw true try typedef typeid "
    "typename union unix unsigned using virtual void volatile wchar_t while xor xor_eq".split()
)
_TYPES = {
    "b1": "uint8_t", "i1": "int8_t", "i2": "int16_t", "i4": "int32_t", "i8": "int64_t",
    "f2": "uint16_t", "V2": "uint16_t", "f4": "float", "f8": "double",
}  # fmt: skip

RESULT = "result"
"""Name of the parameter that the results are written to."""

SUFFIXES = ("", "_error", "_set_threads", "_free")
"""What the name of a function is followed by in the functions of its header."""


@cache
def c_name(entry: str) -> str:
    """What a function is called in C: its own name, or the mangled form (`symbols.py`) where C, C++ or the C
    library has the name, or one that the header makes of it."""

    def is_taken(name: str) -> bool:
        return _is_reserved(name) or any(in_c_library(f"{name}{suffix}") for suffix in SUFFIXES)

    return spell(entry, is_taken)


def _is_reserved(name: str) -> bool:
    """Whether a name is, or may be, a keyword, a type or a macro: headers have those that end in `_t`, and
    those in capitals."""
    return name in _RESERVED or name.endswith("_t") or (name.isupper() and len(name) > 1)


def c_type(dtype: np.dtype) -> str:
    """The C type of an element; float16 and bfloat16 travel as their bits."""
    return _TYPES[f"{dtype.kind}{dtype.itemsize}"]


@dataclass(frozen=True)
class Parameter:
    """One part of an argument: its C name, the extents as C expressions (None for a scalar), and
    the place as the Python interface names it in errors."""

    name: str
    part: Part
    sizes: tuple[str, ...] | None
    place: str

    @property
    def declarations(self) -> list[str]:
        """The parameters of the C function, each with its type."""
        kind = c_type(self.part.dtype)
        if self.sizes is None:
            return [f"{kind} {self.name}"]
        return [f"const {kind} *{self.name}", *(f"int64_t {size}" for size in self.sizes if not size.isdigit())]

    @property
    def description(self) -> str:
        """Element type and extents."""
        return self.part.dtype.name + "".join(f"[{size}]" for size in self.sizes or ())


@dataclass(frozen=True)
class Member:
    """One part of a result: the expression that reaches it in the struct, and whether it has a
    place in the struct's list of memory to free."""

    path: str
    part: Part

    @property
    def is_array(self) -> bool:
        """Whether the part has memory of its own."""
        return self.part.shape is not None


def parameters(signature: Signature, names: Sequence[str | None] | None = None) -> list[Parameter]:
    """The parts of all arguments. `names` has one name per argument, None where it has none; without
    them, and when C cannot have all of them, arguments are called arg0, arg1, …"""
    fallback = [f"arg{k}" for k in range(len(signature.arguments))]
    if names is None:
        return _parameters(signature, fallback)
    chosen = [own if name is None else name for own, name in zip(fallback, names, strict=True)]
    found = _parameters(signature, chosen)
    spelled = [d.split()[-1].lstrip("*") for p in found for d in p.declarations]
    fits = all(_IDENTIFIER.match(name) and not _is_reserved(name) for name in spelled)
    own = {RESULT, c_name(signature.name), f"{c_name(signature.name)}_result"}
    if fits and len({*spelled, *own}) == len(spelled) + len(own):
        return found
    return _parameters(signature, fallback)


def _parameters(signature: Signature, names: Sequence[str]) -> list[Parameter]:
    found: list[Parameter] = []
    for number, (group, name) in enumerate(zip(signature.arguments, names, strict=True)):
        for part in group.parts:
            plain = not group.ragged or part is group.parts[0]
            own = name if plain else f"{name}_{part.name}"
            place = f"{signature.name}: argument {number}" + (f", {part.name}" if group.ragged else "")
            found.append(Parameter(own, part, _sizes(own, part), place))
    return found


def _sizes(name: str, part: Part) -> tuple[str, ...] | None:
    if part.shape is None:
        return None
    return tuple(f"{name}_dim{axis}" if extent is None else str(extent) for axis, extent in enumerate(part.shape))


def members(signature: Signature) -> list[Member]:
    """The parts of all results, in order."""
    return [
        Member(f"result{number}.{part.name}" if group.ragged else f"result{number}", part)
        for number, group in enumerate(signature.results)
        for part in group.parts
    ]


def describe_group(group: Group) -> str:
    """Shape of a result for a comment: layout and extents of a ragged one."""
    if group.shape is not None:
        return f"ragged {group.shape}"
    part = group.parts[0]
    extents = "".join("[?]" if extent is None else f"[{extent}]" for extent in part.shape or ())
    return part.dtype.name + extents
