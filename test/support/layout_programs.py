"""Random dense programs with annotations: what `ragged-infer-layouts` makes ragged, or refuses."""

from __future__ import annotations

import random
from dataclasses import dataclass

Dims = str
"""One letter per dim of a tensor: the batch `b`, the lengths `s` and `t`, a dense `h`."""

_EXTENTS = {"b": "?", "s": "?", "t": "?", "h": "8"}
_STARTS = ("bsh", "bth", "bst", "bs", "bt", "bsth", "bhs", "sbh")


@dataclass
class Line:
    """An op: the value it makes, its text, the values it reads."""

    name: str
    text: str
    reads: tuple[str, ...]


@dataclass
class LayoutProgram:
    """Ops that may stand in any order in which values come before their uses."""

    arguments: dict[str, Dims]
    lines: list[Line]
    values: dict[str, Dims]

    def text(self, order: random.Random | None = None) -> str:
        """A function that returns every value, its ops in a random order if one is given."""
        lines = self.lines if order is None else self._shuffled(order)
        head = ", ".join(f"{name}: {type_of(dims)}" for name, dims in self.arguments.items())
        names, types = ", ".join(self.values), ", ".join(type_of(dims) for dims in self.values.values())
        body = "\n".join(f"  {line.text}" for line in lines)
        return f"func.func @f({head}, %n: index) -> ({types}) {{\n{body}\n  return {names} : {types}\n}}"

    def _shuffled(self, order: random.Random) -> list[Line]:
        done, lines, left = {*self.arguments, "%n"}, list[Line](), list(self.lines)
        while left:
            ready = [line for line in left if done.issuperset(line.reads)]
            line = order.choice(ready)
            left.remove(line)
            done.add(line.name)
            lines.append(line)
        return lines


def type_of(dims: Dims, layout: str = "") -> str:
    """The tensor type of some dims."""
    return f"tensor<{'x'.join([*(_EXTENTS[d] for d in dims), 'f32'])}{layout}>"


def _layout(rng: random.Random, dims: Dims) -> str | None:
    """A layout that makes `s` and `t` ragged below `b`, now and then another one."""
    if rng.random() < 0.08:
        return rng.choice(["dr", "dw", "d|dr", "dr|d", "dw|d", "drr"])
    if "b" not in dims or dims.index("b") > min((dims.find(c) for c in "st" if c in dims), default=0):
        return None
    letters = ["d" if d in "bh" else "r" for d in dims]
    axes = "".join(letters[dims.index("b") :]).rstrip("d")
    tail = len(dims) - dims.index("b") - len(axes)
    return "|".join(["d"] * dims.index("b") + [axes] + ["d"] * tail) if "r" in axes else None


def _fits(letters: str, dims: Dims) -> bool:
    """Whether no dim of static extent would be ragged."""
    return len(letters) == len(dims) and all(c == "d" or d != "h" for c, d in zip(letters, dims, strict=True))


def layout_program(rng: random.Random, steps: int = 8) -> LayoutProgram:
    """A random program with one annotation or more."""
    arguments = {f"%a{k}": rng.choice(_STARTS) for k in range(rng.randint(1, 4))}
    program = LayoutProgram(arguments, [], dict(arguments))
    for number in range(steps):
        _step(rng, program, f"%v{number}")
    for number in range(rng.randint(1, 3)):
        name = rng.choice(list(program.values))
        layout = _layout(rng, program.values[name])
        dims = program.values[name]
        if layout is not None and _fits(layout.replace("|", ""), dims):
            annotated = type_of(dims, f', #ragged.layout<"{layout}">')
            text = f"%t{number} = ragged.annotate {name} : ({type_of(dims)}) -> {annotated}"
            program.lines.append(Line(f"%t{number}", text, (name,)))
    return program


def _step(rng: random.Random, program: LayoutProgram, name: str) -> None:
    values = program.values
    a = rng.choice(list(values))
    dims = values[a]
    same = [v for v in values if values[v] == dims]
    kind = rng.choice(["unary", "binary", "generic", "generic", "generic"])
    if kind == "unary":
        program.lines.append(Line(name, f"{name} = math.exp {a} : {type_of(dims)}", (a,)))
    elif kind == "binary":
        b = rng.choice(same)
        program.lines.append(Line(name, f"{name} = arith.addf {a}, {b} : {type_of(dims)}", (a, b)))
    else:
        _generic(rng, program, name, a)
        return
    values[name] = dims


def _generic(rng: random.Random, program: LayoutProgram, name: str, a: str) -> None:
    """Two tensors over named loops into a new one of some of their dims."""
    values = program.values
    b = rng.choice(list(values))
    loops = [d for d in "bsth" if d in values[a] + values[b]]
    kept = [d for d in loops if d == "b" or rng.random() < 0.7]
    if not kept:
        return
    out = "".join(kept)
    sizes = ", ".join("%n" for d in kept if _EXTENTS[d] == "?")
    empty = f"{name}e = tensor.empty({sizes}) : {type_of(out)}\n  "
    maps = [_map(loops, dims) for dims in (values[a], values[b], out)]
    kinds = ", ".join('"parallel"' if d in kept else '"reduction"' for d in loops)
    text = (
        f"{empty}{name} = linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = [{kinds}]}} "
        f"ins({a}, {b} : {type_of(values[a])}, {type_of(values[b])}) outs({name}e : {type_of(out)}) {{ "
        "^bb0(%p: f32, %q: f32, %o: f32): %r = arith.mulf %p, %q : f32 linalg.yield %r : f32 } "
        f"-> {type_of(out)}"
    )
    program.lines.append(Line(name, text, (a, b)))
    values[name] = out


def _map(loops: list[str], dims: Dims) -> str:
    return f"affine_map<({', '.join(loops)}) -> ({', '.join(dims)})>"
