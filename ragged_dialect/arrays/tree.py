"""Nested tuples, lists and dicts as flat lists, and back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Tree = Any


@dataclass(frozen=True)
class Node:
    """A container: its type, keys (of a dict) and children; None as a child is a leaf."""

    kind: type
    keys: tuple[Any, ...]
    children: tuple[Tree, ...]


@dataclass(frozen=True)
class Static:
    """A child that is no leaf, and is there as it is."""

    value: Any


def flatten(value: Any) -> tuple[list[Any], Tree]:
    """Leaves in order, and the tree, which is None for a leaf alone."""
    leaves: list[Any] = []
    return leaves, _flatten(value, leaves)


def _flatten(value: Any, leaves: list[Any]) -> Tree:
    if isinstance(value, dict):
        return Node(dict, tuple(value), tuple(_flatten(v, leaves) for v in value.values()))
    if isinstance(value, (tuple, list)):
        return Node(type(value), (), tuple(_flatten(v, leaves) for v in value))
    if value is None or isinstance(value, str):
        return Static(value)
    leaves.append(value)
    return None


def unflatten(tree: Tree, leaves: list[Any]) -> Any:
    """The value that `flatten` took apart, with other leaves."""
    return _unflatten(tree, iter(leaves))


def _unflatten(tree: Tree, leaves: Iterator[Any]) -> Any:
    if tree is None:
        return next(leaves)
    if isinstance(tree, Static):
        return tree.value
    children = [_unflatten(child, leaves) for child in tree.children]
    if tree.kind is dict:
        return dict(zip(tree.keys, children, strict=True))
    if tree.kind is list:
        return children
    return tree.kind(*children) if hasattr(tree.kind, "_fields") else tuple(children)
