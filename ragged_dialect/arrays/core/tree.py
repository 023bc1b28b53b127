"""Nested tuples, lists, dicts and dataclasses as flat lists, and back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from ragged_dialect.errors import ArgumentError
from ragged_dialect.narrowing import is_dict, is_frozenset, is_list, is_scalar, is_tuple

Tree: TypeAlias = "Node | Static | None"
"""None is a leaf."""

Leaf: TypeAlias = Any
"""Whatever is no container."""

_DEEPEST = 100
"""Containers inside one another; one that is inside itself has no end."""


@dataclass(frozen=True)
class Node:
    """A container: its type, keys (of a dict, and the fields of a dataclass) and children; None as a child is a
    leaf."""

    kind: type
    keys: tuple[Static, ...]
    children: tuple[Tree, ...]


@dataclass(frozen=True)
class Static:
    """A child that is no leaf, and is there as it is."""

    value: object = field(compare=False)
    key: Hashable

    @staticmethod
    def of(value: object) -> Static:
        """A child of a value. TypeError for one that has no hash."""
        key = exact(value)
        hash(key)
        return Static(value, key)

    @staticmethod
    def of_function(op: str, function: Callable[..., object]) -> Static:
        """A function as a part of keys. A method of a dataclass is another one where the object has other parts by
        now."""
        owner = owner_of(function)
        try:
            if owner is None:
                return Static.of(function)
            leaves, tree = flatten(owner)
            return Static(function, (getattr(function, "__func__", function), tree, *map(_Same, leaves)))
        except (TypeError, ValueError):
            text = f"expected a function that can be hashed, got one of {type(function).__name__} (use a method of it)"
            raise ArgumentError(f"{op}: {text}") from None


class _Same:
    """A value that is equal to nothing but itself."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def owner_of(function: Callable[..., object]) -> object:
    """The dataclass that a function is a method of, else None."""
    owner = getattr(function, "__self__", None)
    return owner if is_dataclass(owner) else None


def exact(value: object) -> Hashable:
    """What tells values apart that make different programs, though they may be equal: 1, 1.0 and True, 0.0 and -0.0. It
    is their type, and what they are made of: of tuples, frozensets, ranges and dataclasses all, which may be equal in
    the same way. Values of other classes make one program where they are equal, as their class has it."""
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if is_tuple(value):
        kinds = tuple(map(type, value))
        return (kind, value, kinds) if _PLAIN.issuperset(kinds) else (kind, *map(exact, value))
    if is_frozenset(value):
        return kind, frozenset(map(exact, value))
    if is_scalar(value):
        return kind, str(value.dtype), value.tobytes()
    if isinstance(value, (float, complex)):
        return kind, value.real.hex(), value.imag.hex()
    if isinstance(value, range):
        return kind, value.start, value.stop, value.step
    if is_dataclass(value) and not isinstance(value, type):
        parts = [getattr(value, f.name) for f in fields(value) if f.compare and f.hash is not False]
        return kind, value, *map(exact, parts)
    return kind, value


_PLAIN = frozenset({int, str, bool, type(None)})


def flatten(value: object, *, computed: bool = False) -> tuple[list[Any], Tree]:
    """Leaves in order, and the tree, which is None for a leaf alone. Of what is `computed` booleans are leaves, as
    other numbers are; of arguments they are not."""
    leaves: list[Leaf] = []
    return leaves, _flatten(value, leaves, _TEXTS if computed else _STATIC)


def _flatten(value: object, leaves: list[Leaf], static: tuple[type[object], ...], depth: int = 0) -> Tree:
    if _is_leaf_class(type(value)):
        leaves.append(value)
        return None
    if depth > _DEEPEST:
        raise ArgumentError(f"expected containers at most {_DEEPEST} deep, got deeper ones")
    if is_dataclass(value) and not isinstance(value, (type, Static)):
        return _fields(value, leaves, static, depth + 1)
    if is_dict(value):
        children = tuple(_flatten(v, leaves, static, depth + 1) for v in value.values())
        return Node(dict, tuple(_name(k) if type(k) is str else Static.of(k) for k in value), children)
    if is_list(value):
        return Node(type(value), (), tuple(_flatten(v, leaves, static, depth + 1) for v in value))
    if isinstance(value, Static):
        return value
    if value is None or isinstance(value, static):
        return Static.of(value)
    leaves.append(value)
    return None


def _fields(value: Leaf, leaves: list[Leaf], static: tuple[type[object], ...], depth: int) -> Node:
    """A dataclass: its fields, as they are now. Those with `static` in their metadata are no leaves."""
    kind: type[object] = value.__class__
    if isinstance(value, (dict, list, tuple)):
        raise ArgumentError(
            f"expected a container of one kind, got {kind.__name__}, a dataclass that has items as well"
        )

    def child(name: str, is_static: bool) -> Tree:
        part = getattr(value, name)
        if not is_static:
            return _flatten(part, leaves, static, depth)
        try:
            return Static.of(part)
        except (TypeError, ValueError):
            text = f"expected what can be hashed for '{kind.__name__}.{name}', which is static"
            raise ArgumentError(f"{text}, got {type(part).__name__}") from None

    given = [f for f in _fields_of(kind) if hasattr(value, f[0])]
    return Node(kind, tuple(_name(name) for name, _ in given), tuple(child(*f) for f in given))


# Every call asks these of all that its arguments are made of.


@lru_cache(maxsize=256)
def _is_leaf_class(kind: type[object]) -> bool:
    """Whether all values of a class are leaves. Those of proxies are what they say that their class is."""
    says_its_class = any("__class__" in base.__dict__ for base in kind.__mro__[:-1])
    containers = dict, list, tuple, Static, type(None), *_STATIC
    return not (says_its_class or issubclass(kind, containers) or is_dataclass(kind))


@lru_cache(maxsize=256)
def _fields_of(kind: type[Leaf]) -> tuple[tuple[str, bool], ...]:
    """The names of the fields of a dataclass, and which are static."""
    return tuple((f.name, bool(f.metadata.get("static"))) for f in fields(kind))


@lru_cache(maxsize=1024)
def _name(text: str) -> Static:
    return Static.of(text)


def leaf_places(tree: Tree, at: str = "") -> list[str]:
    """Where each leaf is, as it is written in Python: `['w'][0].bias`."""
    if not isinstance(tree, Node):
        return [at] if tree is None else []
    found: list[str] = []
    for k, child in enumerate(tree.children):
        found += leaf_places(child, f"{at}{_step(tree, k)}")
    return found


def _step(node: Node, k: int) -> str:
    if node.kind is dict:
        return f"[{node.keys[k].value!r}]"
    names = [key.value for key in node.keys] or getattr(node.kind, "_fields", ())
    return f".{names[k]}" if names else f"[{k}]"


def flatten_arguments(value: object, place: str) -> tuple[list[Any], Tree]:
    """As `flatten`, for arguments: booleans, dtypes and types are static. ArgumentError, with the place,
    for what is no array, number or container."""
    leaves: list[Leaf] = []
    tree = _flatten(value, leaves, _STATIC)
    for k, leaf in enumerate(leaves):
        if isinstance(leaf, _SETS) or callable(leaf):
            text = f"expected arrays, numbers or text, got {type(leaf).__name__} (use static, or a dataclass)"
            raise ArgumentError(f"{place}{leaf_places(tree)[k]}: {text}")
    return leaves, tree


_SETS: tuple[type[object], ...] = (set, frozenset)
_TEXTS: tuple[type[object], ...] = (str, np.dtype, type)
_STATIC: tuple[type[object], ...] = (*_TEXTS, bool)


def unflatten(tree: Tree, leaves: Iterable[Any]) -> Any:
    """The value that `flatten` took apart, with other leaves."""
    return _unflatten(tree, iter(leaves))


def _unflatten(tree: Tree, leaves: Iterator[Any]) -> Any:
    if tree is None:
        return next(leaves)
    if isinstance(tree, Static):
        return tree.value
    children = [_unflatten(child, leaves) for child in tree.children]
    kind: Leaf = tree.kind
    named: dict[Leaf, Leaf] = dict(zip((key.value for key in tree.keys), children, strict=False))
    if kind is dict:
        return named
    if hasattr(kind, "__dataclass_fields__"):
        made = kind.__new__(kind)
        for name, part in named.items():  # as they are: its constructor may compute others of them
            object.__setattr__(made, name, part)
        return made
    if kind is list:
        return children
    return kind(*children) if hasattr(kind, "_fields") else tuple(children)
