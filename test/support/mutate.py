"""Mutations of .mlir text for fuzzing."""

from __future__ import annotations

import random
import re

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|[%@#!^]?[\w$.]+|\s+|.')
_NUMBER = re.compile(r"-?\d+")
_NUMBERS = ("-1", "0", "1", "2", "7", "-9223372036854775808", "9223372036854775807", "9223372036854775808", "?")
_WORDS = (
    *("ragged.merge", '"ragged.merge"(', "%0", "%x", "->", *':{}()<>"', "tensor<?xf32>", "index", "loc(", "\x00", "\t"),
    *('#ragged.layout<"dr">', '#ragged.layout<"">', "#ragged.layout<1>", "!ragged.x", "dim = 0", "{dim = -1}"),
)


def mutate(rng: random.Random, seeds: list[str]) -> str:
    """A seed after one to six random changes."""
    text = rng.choice(seeds)
    for _ in range(rng.randint(1, 6)):
        text = rng.choice(_CHANGES)(rng, text, seeds)
    return text


def _tokens(rng: random.Random, text: str) -> tuple[list[str], int, int]:
    tokens = _TOKEN.findall(text) or [""]
    start = rng.randrange(len(tokens))
    return tokens, start, min(len(tokens), start + rng.choice((1, 1, 1, 2, 5, 20)))


def _drop(rng: random.Random, text: str, _: list[str]) -> str:
    tokens, start, end = _tokens(rng, text)
    return "".join(tokens[:start] + tokens[end:])


def _double(rng: random.Random, text: str, _: list[str]) -> str:
    tokens, start, end = _tokens(rng, text)
    return "".join(tokens[:end] + tokens[start:end] * rng.choice((1, 1, 3)) + tokens[end:])


def _swap(rng: random.Random, text: str, _: list[str]) -> str:
    tokens, i, _ = _tokens(rng, text)
    j = rng.randrange(len(tokens))
    tokens[i], tokens[j] = tokens[j], tokens[i]
    return "".join(tokens)


def _insert(rng: random.Random, text: str, _: list[str]) -> str:
    tokens, start, _ = _tokens(rng, text)
    return "".join([*tokens[:start], rng.choice(_WORDS), *tokens[start:]])


def _renumber(rng: random.Random, text: str, _: list[str]) -> str:
    found = list(_NUMBER.finditer(text))
    if not found:
        return text
    match = rng.choice(found)
    return text[: match.start()] + rng.choice(_NUMBERS) + text[match.end() :]


def _letters(rng: random.Random, text: str, _: list[str]) -> str:
    layouts = list(re.finditer(r'layout<"([^"]*)"', text))
    if not layouts:
        return text
    match = rng.choice(layouts)
    letters = "".join(rng.choice("drwt|dr") for _ in range(rng.randint(0, 6)))
    return text[: match.start(1)] + letters + text[match.end(1) :]


def _flip(rng: random.Random, text: str, _: list[str]) -> str:
    at = rng.randrange(len(text) + 1)
    char = chr(rng.choice((0, 9, 34, 37, 40, 92, 127, 233, 0x1F600, rng.randrange(32, 127))))
    return text[:at] + char + text[at + 1 :]


def _cut(rng: random.Random, text: str, _: list[str]) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _splice(rng: random.Random, text: str, seeds: list[str]) -> str:
    other, start, end = _tokens(rng, rng.choice(seeds))
    tokens, at, _ = _tokens(rng, text)
    return "".join(tokens[:at] + other[start:end] + tokens[at:])


def _nest(rng: random.Random, text: str, _: list[str]) -> str:
    tokens, at, _ = _tokens(rng, text)
    return "".join([*tokens[:at], rng.choice("([{<") * rng.choice((3, 300, 30000)), *tokens[at:]])


_OFTEN = (_drop, _swap, _insert, _renumber)
_CHANGES = (*_OFTEN, *_OFTEN, _double, _letters, _flip, _cut, _splice, _nest)
