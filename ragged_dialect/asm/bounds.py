"""What MLIR's parser ends the process on, or takes too long for: found in the text before it is parsed.

The parser, and the printer after it, descend into what is nested, write an alias out wherever it is used,
and take quadratic time for digits, dims and affine expressions. No program that means something comes near
these bounds.
"""

from __future__ import annotations

import re
from math import prod
from typing import NamedTuple

from ragged_dialect.asm.scan import COMMENT, DEEPEST, STRING, bad_dims, too_deep

LONGEST = 4096
"""Digits of a number; exact decimals of the smallest float64 have about 1,100."""

LARGEST = 1 << 20
"""Words of an attribute or a type with its aliases written out."""

_AFFINE = 1 << 16

# None starts inside of another: searching takes linear time. The characters they start with are what is searched for.
_RUNS = (
    (rf"[\d?](?<![\dx?].)(?<!x\s.)(?:\d*\s*x\s*[\d?]){{{DEEPEST}}}", f"expected types of at most {DEEPEST} dims"),
    (rf"\d(?<!\w.)[\da-fA-FxX.]{{{LONGEST}}}", f"expected numbers of at most {LONGEST} digits"),
    (rf"-(?<!-.)(?:\s*-){{{DEEPEST}}}", f"expected signs nested at most {DEEPEST} deep"),
    (rf"affine_map\s*<[^{{}}\"#%@=]{{{_AFFINE + 1}}}", f"expected affine maps of at most {_AFFINE} characters"),
)
_NAME = r"[#!][A-Za-z_][\w$.\-]*"
_DEFINITION = re.compile(rf"{STRING}|{COMMENT}|(?P<name>{_NAME})\s*=(?!=)")
# Few texts have what these are for: they are compiled when they are first used.
_WORD = (
    rf"{STRING}|{COMMENT}|(?P<newline>\n)|->|[<>]=|(?P<next>{_NAME}\s*=(?!=))|(?P<use>{_NAME})"
    r"|(?P<bracket>[()\[\]{}<>])|[\w.$?]+"
)
# The first four bytes of a resource say how it is aligned; MLIR asks for memory like that.
_RESOURCE = rf'{COMMENT}|:\s*"0x(?P<alignment>[\da-fA-F]{{8}})[\da-fA-F]*"|{STRING}'
# The parser makes room for as many operands as the type has elements.
_ELEMENTS = (
    rf"{STRING}|{COMMENT}|(?P<op>\b(?:from|to)_elements\b)(?:(?!_elements\b)[^:{{=])*"
    rf"(?:\{{(?:(?!_elements\b)[^}}])*\}}\s*)?:\s*(?P<type>!{_NAME[4:]}|\w+\s*<[\d\sx]*)"
)
# The verifier takes the first dim of every group.
_GROUPS = (
    rf"{STRING}|{COMMENT}|(?:\b(?:expand|collapse)_shape\b[^\[:{{\n]*|\breassociation\s*=\s*)"
    r"(?P<groups>\[[\[\]\s\d,]*)"
)
# The parsers of custom forms take every iterator for a string, and read it as one; generic forms are verified.
_LIST = rf"\[(?:{STRING}|[^\]\"])*"
_CONTRACTS = r"(?:linalg\.\w+|vector\.contract)"
_ITERATORS = (
    rf"{COMMENT}|(?P<generic>\"{_CONTRACTS}\")|(?P<custom>{_NAME}\s*=(?!=)|(?<![\w.#!]){_CONTRACTS})"
    rf"|(?<![\w.])iterator_types\s*=\s*(?P<given>{_LIST}|{_NAME})|{STRING}"
)


def refuse(text: str) -> tuple[int, str] | None:
    """Offset of the first thing that MLIR's parser must not see, and what was expected instead."""
    deep = too_deep(text)
    if deep is not None:
        return deep, f"expected brackets nested at most {DEEPEST} deep"
    dims = bad_dims(text)
    if dims is not None:
        return dims[0], f"expected a list of integers after '{dims[1]} ='"
    rules = (_long_run, _large_alias, _bad_resource, _many_elements, _no_dim, _no_iterator)
    return next((found for rule in rules if (found := rule(text)) is not None), None)


def _long_run(text: str) -> tuple[int, str] | None:
    for pattern, message in _RUNS:
        if re.search(pattern, text) is None:  # the rule; looking past strings and comments takes longer
            continue
        for match in re.finditer(rf"{STRING}|{COMMENT}|(?P<run>{pattern})", text):
            if match["run"]:
                return match.start(), message
    return None


class _Size(NamedTuple):
    """Brackets around the innermost word, and words, of an alias written out."""

    depth: int
    words: int


def _large_alias(text: str) -> tuple[int, str] | None:
    known: dict[str, _Size] = {}
    for match in _DEFINITION.finditer(text):
        if match["name"]:
            size = known[match["name"]] = _size(text, match.end(), known)
            if size.depth > DEEPEST:
                return match.start(), f"expected aliases and brackets nested at most {DEEPEST} deep"
            if size.words > LARGEST:
                return match.start(), f"expected at most {LARGEST} words with aliases written out"
    return None


def _size(text: str, start: int, known: dict[str, _Size]) -> _Size:
    """Size of what an alias stands for: up to the end of the line where no bracket is open, or the next alias."""
    level, depth, words = 0, 0, 0
    for match in re.compile(_WORD).finditer(text, start):
        if match["next"] or (match["newline"] and level <= 0 and words):
            break
        if match["newline"]:
            continue
        if match["bracket"]:
            level += 1 if match["bracket"] in "([{<" else -1
            depth = max(depth, level)
        else:
            used = known.get(match["use"] or "", _Size(0, 1))
            depth, words = max(depth, level + used.depth), words + used.words
    return _Size(depth, words)


def _bad_resource(text: str) -> tuple[int, str] | None:
    start = text.find("{-#")
    if start < 0:
        return None
    for match in re.compile(_RESOURCE).finditer(text, start):
        if match["alignment"]:
            alignment = int.from_bytes(bytes.fromhex(match["alignment"]), "little")
            if alignment.bit_count() != 1 or alignment > 1 << 16:
                return match.start(), f"expected a resource aligned to a power of two up to 65536, got {alignment}"
    return None


def _many_elements(text: str) -> tuple[int, str] | None:
    if "_elements" not in text:
        return None
    aliases = dict(re.findall(rf"(!{_NAME[4:]})\s*=\s*(\w+\s*<[\d\sx]*)", text))
    for match in re.finditer(_ELEMENTS, text):
        type_ = aliases.get(match["type"], match["type"] or "")
        if prod(map(int, re.findall(r"\d+", type_.partition("<")[2]))) > LARGEST:
            return match.start("op"), f"expected at most {LARGEST} elements as operands or results"
    return None


def _no_dim(text: str) -> tuple[int, str] | None:
    if "_shape" not in text:
        return None
    for match in re.finditer(_GROUPS, text):
        empty = re.search(r"[\[,]\s*\[\s*\]", match["groups"] or "")
        if empty is not None:
            return match.start("groups") + empty.start(), "expected a dim in every group of a reshape"
    return None


def _no_iterator(text: str) -> tuple[int, str] | None:
    if "iterator_types" not in text:
        return None
    aliases, generic = dict(re.findall(rf"({_NAME})\s*=\s*(\"|{_LIST})", text)), False
    for match in re.finditer(_ITERATORS, text):
        if match["generic"] or match["custom"]:
            generic = bool(match["generic"])
        elif match["given"] and not generic:
            given = aliases.get(match["given"], match["given"])
            words = re.findall(r"[^\s,]+", re.sub(STRING, "", given[1:])) if given.startswith("[") else []
            if any(aliases.get(word) != '"' for word in words):
                return match.start("given"), "expected strings in a list after 'iterator_types ='"
    return None
