"""`cvt` (PTX ISA 9.7.9.21)."""

from __future__ import annotations

from ragged_dialect.emulator.ptx.body import Body
from ragged_dialect.emulator.ptx.floats import finish, flushed, llvm_function, relu
from ragged_dialect.emulator.ptx.forms import Found
from ragged_dialect.emulator.ptx.types import TYPES, Type

_ROUNDINGS = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}


def integers(body: Body, found: Found) -> None:
    """Cut, or extended by the sign or zeros of the source."""
    target, source = found.kind(0), found.type
    (value,) = found.values(body)
    if source.bits < target.bits:
        value = body.emit(f"{'sext' if source.signed else 'zext'} {source.llvm} {value} to {target.llvm}")
    elif source.bits > target.bits:
        value = body.emit(f"trunc {source.llvm} {value} to {target.llvm}")
    found.set(body, value)


def to_float(body: Body, found: Found) -> None:
    """An integer as the nearest float. The host makes bf16 from float or double: the integer is made to fit there."""
    (value,), source, target = found.values(body), found.type, found.kind(0)
    middle, digits = {32: ("float", 24), 64: ("double", 53)}.get(source.bits, ("float", 0))
    if target.name != "bf16":
        middle = target.llvm
    elif digits:
        value = _fitting(body, source, value, digits)
    value = body.emit(f"{'sitofp' if source.signed else 'uitofp'} {source.llvm} {value} to {middle}")
    found.set(body, value if middle == target.llvm else body.emit(f"fptrunc {middle} {value} to {target.llvm}"))


def _fitting(body: Body, kind: Type, value: str, digits: int) -> str:
    """An integer that needs more digits rounded to odd, which rounding to fewer digits later does not notice."""
    unit = 1 << kind.bits - digits
    rest = body.emit(f"and {kind.llvm} {value}, {unit - 1}")
    lost = body.emit(f"icmp ne {kind.llvm} {rest}, 0")
    odd = body.emit(f"select i1 {lost}, {kind.llvm} {unit}, {kind.llvm} 0")
    rounded = body.emit(f"or {kind.llvm} {body.emit(f'xor {kind.llvm} {value}, {rest}')}, {odd}")
    top = body.emit(f"{'ashr' if kind.signed else 'lshr'} {kind.llvm} {value}, {digits - 1}")
    fits = body.emit(f"icmp ult {kind.llvm} {body.emit(f'add {kind.llvm} {top}, 1')}, 2")
    return body.emit(f"select i1 {fits}, {kind.llvm} {value}, {kind.llvm} {rounded}")


def to_integer(body: Body, found: Found) -> None:
    """Clamped to the range of the target. A NaN gives 0, or the highest bit alone from f64 or to 64 bits."""
    target, source = found.kind(0), found.type
    value = flushed(body, found.has("ftz"), source, found.values(body)[0])
    rounded = _integral(body, found, source, value)
    kind, name = source.llvm, source.suffix
    if source.bits == 16:  # LLVM's code for processors that have these types makes something else of a NaN, or 0
        rounded = body.emit(f"fpext {kind} {rounded} to float")
        kind, name = "float", "f32"
    call = f"llvm.fpto{'s' if target.signed else 'u'}i.sat.{target.llvm}.{name}"
    clamped = body.call(call, target.llvm, [kind], [rounded])
    if source.bits == 64 or target.bits == 64:
        nan = body.emit(f"fcmp uno {source.llvm} {value}, {value}")
        highest = -(1 << target.bits - 1)
        clamped = body.emit(f"select i1 {nan}, {target.llvm} {highest}, {target.llvm} {clamped}")
    found.set(body, clamped)


def _integral(body: Body, found: Found, kind: Type, value: str) -> str:
    """Rounded to an integral number, where the instruction says how."""
    names = [name for modifier, name in _ROUNDINGS.items() if found.has(modifier)]
    return llvm_function(body, names[0], kind, [value]) if names else value


def floats(body: Body, found: Found) -> None:
    """Between floats: wider, narrower by rounding to nearest, or to an integral number. `.ftz` is about f32 only."""
    target, source = found.kind(0), found.type
    (value,) = found.values(body)
    value = flushed(body, found.has("ftz") and source.name == "f32", source, value)
    value = _integral(body, found, source, value)
    if target != source:
        name = "fpext" if target.bits > source.bits else "fptrunc"
        value = body.emit(f"{name} {source.llvm} {value} to {target.llvm}")
    finish(body, found, value, found.has("ftz") and target.name == "f32")


def pack(body: Body, found: Found) -> None:
    """`cvt.rn.f16x2.f32 d, a, b`: a becomes the upper half."""
    kind = found.kind(0)
    element, result = TYPES[kind.name[:-2]], "poison"
    for lane, value in enumerate(reversed(found.values(body))):
        value = body.emit(f"fptrunc float {value} to {element.llvm}")
        value = relu(body, element, value) if found.has("relu") else value
        result = body.emit(f"insertelement {kind.llvm} {result}, {element.llvm} {value}, i32 {lane}")
    found.set(body, result)
