"""Pipelines of our passes and MLIR's: text -> stages.

A stage is one pass on its anchor; nested lists become several stages, which gives the same result
because anchors are isolated from each other.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Union, get_args, get_origin, get_type_hints

from ragged_dialect import extensions, plugins
from ragged_dialect._mlir import ir, passmanager, register_carried_passes
from ragged_dialect.dialect import load_extensions, load_named
from ragged_dialect.errors import PassError
from ragged_dialect.passes import registry
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.passes.pipeline.running import MODULE, Stage
from ragged_dialect.passes.pipeline.text import Element, Option, parse_text, pipeline_error

_POSITION = re.compile(r"^pipeline:1:\d+: error: ")
_RESTRICTED = re.compile(r"restricted to '([^']+)' on a PassManager intended to run on")
_TRUE = {"true": True, "1": True, "false": False, "0": False}


def parse_pipeline(text: str, context: ir.Context, root: str = MODULE, flags: bool = False) -> tuple[Stage, ...]:
    """The stages of a pipeline on an op `root`. Passes that are `flags` are nested under the op that they run on, as
    mlir-opt does. PassError with the column for malformed text, an unknown pass or option, a value of the wrong type,
    or a pass under an op that it does not run on."""
    elements = parse_text(text, root)
    if flags:
        elements = tuple(_nested(element, context, root) for element in elements)
    return tuple(_stages(elements, (), context, root))


def _nested(element: Element, context: ir.Context, root: str) -> Element:
    """A pass under the op that it runs on, where that is not the root."""
    if registry.is_registered(element.name):
        anchor = registry.lookup(element.name).anchor
    else:
        restricted = None if _is_ours(element.name) else _RESTRICTED.search(_refusal(element.text, context, root))
        anchor = root if restricted is None else restricted[1]
    return element if anchor in (root, "any") else Element(anchor, element.column, nested=(element,))


def _stages(
    elements: Sequence[Element],
    anchors: tuple[str, ...],
    context: ir.Context,
    root: str,
    inside: tuple[str, ...] = (),
) -> Iterator[Stage]:
    """The stages of elements below anchors, and `inside` of named pipelines."""
    for element in elements:
        if element.nested is not None and element.name == MODULE != root and not anchors:
            raise pipeline_error(element.column, f"expected passes under '{root}', got them under '{element.name}'")
        if element.nested is not None:
            yield from _stages(element.nested, (*anchors, element.name), context, root, inside)
        elif _is_ours(element.name):
            yield from _own_stages(element, anchors, context, root, inside)
        else:
            try:
                yield _foreign_stage(element, anchors, context, root)
            except UnknownPass:
                plugins.load_installed()
                if not _is_ours(element.name):
                    raise
                yield from _own_stages(element, anchors, context, root, inside)


def _is_ours(name: str) -> bool:
    return registry.is_registered(name) or registry.is_pipeline(name)


def _own_stages(
    element: Element, anchors: tuple[str, ...], context: ir.Context, root: str, inside: tuple[str, ...]
) -> Iterator[Stage]:
    if registry.is_registered(element.name):
        yield _own_stage(element, anchors or (root,), anchors, context)
        return
    if element.name in inside:
        raise pipeline_error(element.column, f"expected a pipeline that is not part of itself, got '{element.name}'")
    for part in _parts(element, anchors if root == MODULE else (root,)):
        try:
            for stage in _stages(parse_text(part.text), (), context, root, (*inside, element.name)):
                yield stage._replace(part=part.name)
        except PassError as error:
            place: str = getattr(part, "place", "")  # a part that comes from a file tells the line
            if not place and inside:  # what is inside of named pipelines tells its place already
                raise
            if not place:
                raise pipeline_error(
                    element.column, f"'{element.name}', stage '{part.name}': {_POSITION.sub('', str(error))}"
                ) from None
            raise PassError(f"{place}: error: {_POSITION.sub('', str(error))}") from None


def _own_stage(element: Element, around: tuple[str, ...], anchors: tuple[str, ...], context: ir.Context) -> Stage:
    cls = registry.lookup(element.name)
    anchor = around[-1]
    load_named(cls.anchor, context)
    if cls.anchor != "any" and not context.is_registered_operation(cls.anchor) and not load_extensions(context):
        message = f"expected '{element.name}' to run on an op that is registered, got '{cls.anchor}'"
        raise pipeline_error(element.column, message)
    if anchor == cls.anchor == "any":
        message = f"expected '{element.name}' under an op by its name, like 'func.func', got it under 'any'"
        raise pipeline_error(element.column, message)
    if anchor == "any" or cls.anchor not in (anchor, "any"):
        raise pipeline_error(element.column, f"expected '{element.name}' under '{cls.anchor}', got it under '{anchor}'")
    own = make_pass(cls, element.parsed_options())
    return Stage(element.name, element.text, anchors, own)


def _parts(element: Element, anchors: tuple[str, ...]) -> Sequence[registry.Part]:
    """The stages that a named pipeline is made of."""
    if anchors:
        message = f"expected '{element.name}' under '{MODULE}', got it under '{anchors[-1]}'"
        raise pipeline_error(element.column, message)
    function = registry.pipeline(element.name)
    hints, required = registry.made("options", element.name, lambda: _parameters(function))
    types = {name: type_ for name, type_ in hints.items() if name != "return"}
    values = _values(element.name, {**types, "from": str, "to": str}, element.parsed_options())
    ends = [values.pop(end, None) for end in ("from", "to")]
    missing = [name for name in required if name not in values]
    if missing:
        raise pipeline_error(element.column, f"expected '{missing[0]}' for '{element.name}'")

    def are_stages(found: Sequence[object]) -> bool:
        return isinstance(found, tuple) and all(
            isinstance(getattr(part, key, None), str) for part in found for key in ("name", "text")
        )

    made = registry.made("stages", element.name, lambda: tuple(function(**values)), are_stages, function)
    return _between(made, ends, element)


def _parameters(function: Callable[..., object]) -> tuple[dict[str, type], list[str]]:
    """The types of the options of a named pipeline, and those that have no default."""
    parameters = inspect.signature(function).parameters.values()
    required = [parameter.name for parameter in parameters if parameter.default is parameter.empty]
    return get_type_hints(function), required


def _between(parts: Sequence[registry.Part], ends: Sequence[int | str | None], element: Element) -> list[registry.Part]:
    """The stages from one to another, both included."""
    names = [part.name for part in parts]
    for name in ends:
        if name is not None and name not in names:
            known = ", ".join(dict.fromkeys(names))
            raise pipeline_error(element.column, f"expected a stage of '{element.name}' ({known}), got '{name}'")
    start, end = (None if name is None else names.index(str(name)) for name in ends)
    last = len(names) - 1 if end is None else len(names) - 1 - names[::-1].index(names[end])
    if start is not None and start > last:
        raise pipeline_error(element.column, f"expected 'from' before 'to', got '{names[start]}' after '{names[last]}'")
    return list(parts[start : last + 1])


def make_pass(cls: type[RaggedPass], options: Sequence[Option]) -> RaggedPass:
    """A pass with options by their kebab-case names. PassError for an unknown name, a bad value, an option that is
    missing, and a class that is not as those of passes."""
    types = registry.made("types of options", cls.name, lambda: _option_types(cls))
    values = _values(cls.name, types, options)
    for field in dataclasses.fields(cls):
        if field.default is field.default_factory is dataclasses.MISSING and field.name not in values:
            raise PassError(f"expected '{field.name.replace('_', '-')}' for '{cls.name}'")
    return registry.made("a pass", cls.name, lambda: cls(**values), lambda found: isinstance(found, cls))


@cache
def _option_types(cls: type[RaggedPass]) -> dict[str, type]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def _values(owner: str, types: Mapping[str, type], options: Sequence[Option]) -> dict[str, int | str]:
    """Keyword arguments from options: `y-z=2` is y_z, of the type given."""
    values: dict[str, int | str] = {}
    for option in options:
        name = option.name.replace("-", "_")
        if name not in types or "_" in option.name:
            known = ", ".join(types).replace("_", "-") or "none"
            raise pipeline_error(option.column, f"expected an option of '{owner}' ({known}), got '{option.name}'")
        if name in values:
            raise pipeline_error(option.column, f"expected '{option.name}' once")
        values[name] = _value(option, types[name])
    return values


def _value(option: Option, type_: type[int | str]) -> int | str:
    kinds = get_args(type_) if get_origin(type_) in (Union, UnionType) else (type_,)
    if bool in kinds:
        value = _TRUE.get(option.value or "true")
        if value is None:
            raise pipeline_error(option.column, f"expected true or false for '{option.name}', got '{option.value}'")
        return value
    if option.value is None:
        raise pipeline_error(option.column, f"expected a value for '{option.name}'")
    if str in kinds:
        return option.value
    if int not in kinds:
        shown = getattr(type_, "__name__", type_)
        raise pipeline_error(option.column, f"expected bool, int or str as type of '{option.name}', got {shown}")
    if re.fullmatch(r"[+-]?[0-9]{1,19}", option.value) is None or not -(2**63) <= int(option.value) < 2**63:
        raise pipeline_error(option.column, f"expected an integer for '{option.name}', got '{option.value}'")
    return int(option.value)


class UnknownPass(PassError):
    """A pass, by `name`, that neither we nor MLIR have."""

    def __init__(self, name: str, column: int) -> None:
        super().__init__(f"pipeline:1:{column}: error: expected a known pass, got '{name}'{registry.suggestion(name)}")
        self.name = name


def is_known(name: str, context: ir.Context) -> bool:
    """Whether there is a pass of that name, ours or MLIR's."""
    if _is_ours(name) or not _is_unknown(_refusal(name, context)):
        return True
    plugins.load_installed()
    return _is_ours(name)


def is_native(name: str) -> bool:
    """Whether there is a pass or pipeline of MLIR of that name."""
    return not _is_unknown(_refusal(name, ir.Context()))


def _foreign_stage(element: Element, anchors: tuple[str, ...], context: ir.Context, root: str) -> Stage:
    if element.name.startswith("transform-"):  # libraries may have ops of ours
        load_named(" ".join(extensions.LATER), context)
    stage = Stage(element.name, element.text, anchors)
    if (root, str(stage)) in _accepted:
        return stage
    message = _refusal(str(stage), context, root)
    if _is_unknown(message):
        raise UnknownPass(element.name, element.column)
    if message:
        lines = [line for line in message.splitlines() if line.strip() and "to inner pipeline" not in line]
        raise pipeline_error(element.column, f"'{element.name}': {'; '.join(lines)}")
    _accepted.add((root, str(stage)))
    return stage


_accepted: set[tuple[str, str]] = set()
"""Passes of MLIR's with their options that it took below an op: it forgets none."""


def _refusal(text: str, context: ir.Context, root: str = MODULE) -> str:
    """What MLIR says against a pipeline below an op, nothing where it takes it."""
    for register_more in (register_carried_passes, None):
        try:
            passmanager.PassManager.parse(f"{root}({text})", context)
        except ValueError as error:
            if register_more is None or not _is_unknown(str(error)):
                return str(error)
            register_more()
        else:
            return ""
    return ""


def _is_unknown(message: str) -> bool:
    return "does not refer to a registered pass" in message
