"""Compiled programs, and their form as bytes."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, cast

import numpy as np

from ragged_dialect.checks import Check
from ragged_dialect.layout import Layout
from ragged_dialect.runtime.host_program import HostProgram
from ragged_dialect.runtime.signature import Group, Part, Signature, dtype_name, numpy_dtype
from ragged_dialect.shape import RaggedShape

if TYPE_CHECKING:
    from typing_extensions import Self

_Data = dict[str, Any]
_List = list[Any]
_CPU, _DEVICE = "ragged-dialect CPU program", "ragged-dialect device program"
_ELF = b"\x7fELF"


class Stored(Protocol):
    """What the cache keeps: it is made once more of its bytes. `native` says whether it has code of this machine."""

    native: ClassVar[bool]

    def to_bytes(self) -> bytes | None:
        """As `from_bytes` reads it; None for what cannot be kept."""
        ...

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """What `to_bytes` wrote. ValueError, TypeError or LookupError for anything else."""
        ...


@dataclass(frozen=True)
class StoredCode:
    """Machine code: an object."""

    native: ClassVar[bool] = True
    code: bytes

    def to_bytes(self) -> bytes:
        """The object."""
        return self.code

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """An object again. ValueError for anything else."""
        return cls(_object(content))


class Text(NamedTuple):
    """A program before it was compiled, its entry, and whether it has run-time checks."""

    text: str
    entry: str
    check: bool


@dataclass(frozen=True)
class CpuProgram:
    """All that running a program on the CPU needs: the signature of its entry and the entry's symbol in `code`, an
    object; its checks and what it prints before tensors; which vector functions of the C library it calls, and
    whether it has parallel loops. One that refuses skewed data has its source, to be compiled again for them."""

    native: ClassVar[bool] = True
    signature: Signature
    symbol: str
    checks: tuple[Check, ...]
    labels: tuple[str, ...]
    vectors: tuple[str, ...]
    parallel: bool
    code: bytes
    source: Text | None = None

    def to_bytes(self) -> bytes:
        """As JSON, which `from_bytes` reads."""
        data = {
            **_signature_data(self.signature),
            "symbol": self.symbol,
            "checks": self.checks,
            "labels": self.labels,
            "vectors": self.vectors,
            "parallel": self.parallel,
            "code": base64.b64encode(self.code).decode(),
            "source": self.source,
        }
        return _written(_CPU, data)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The program that `to_bytes` wrote. ValueError for anything else."""
        data = _read(_CPU, content)
        checks = _checks(data)
        names, vectors, code = tuple(data["labels"]), tuple(data["vectors"]), _object(base64.b64decode(data["code"]))
        signature = _signature(data)
        source = None if data["source"] is None else _text(*data["source"])
        return cls(signature, data["symbol"], checks, names, vectors, bool(data["parallel"]), code, source)


def _text(text: object, entry: object, check: object) -> Text:
    if not isinstance(text, str) or not isinstance(entry, str):
        raise TypeError(f"expected a program and the name of its entry, got {type(text)} and {type(entry)}")
    return Text(text, entry, bool(check))


@dataclass(frozen=True)
class DeviceProgram:
    """All that running a program on a device needs: the signature of its entry, the host program,
    and the kernels as LLVM IR or PTX, empty when it has none."""

    native: ClassVar[bool] = False
    signature: Signature
    host: HostProgram
    kernels: str

    def to_bytes(self) -> bytes:
        """As JSON, which `from_bytes` reads."""
        host = self.host
        data = {
            **_signature_data(self.signature),
            "source": host.source,
            "constants": {name: _array_data(array) for name, array in host.constants.items()},
            "checks": host.checks,
            "labels": host.labels,
            "reads_back": host.reads_back,
            "kernels": self.kernels,
        }
        return _written(_DEVICE, data)

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The program that `to_bytes` wrote. ValueError for anything else."""
        data = _read(_DEVICE, content)
        host = HostProgram(
            data["source"],
            {name: _array(array) for name, array in data["constants"].items()},
            _checks(data),
            tuple(data["labels"]),
            tuple(data["reads_back"]),
        )
        return cls(_signature(data), host, data["kernels"])


def _written(kind: str, data: _Data) -> bytes:
    return json.dumps({"format": kind, **data}).encode()


def _read(kind: str, content: bytes) -> _Data:
    data = json.loads(content)
    if not isinstance(data, dict) or cast(_Data, data).get("format") != kind:
        raise ValueError("not a stored program")
    return cast(_Data, data)


def _object(content: bytes) -> bytes:
    if not content.startswith(_ELF):
        raise ValueError("not an object")
    return content


def _checks(data: _Data) -> tuple[Check, ...]:
    return tuple(Check(*check) for check in data["checks"])


def _signature_data(signature: Signature) -> _Data:
    return {
        "name": signature.name,
        "arguments": [_group_data(group) for group in signature.arguments],
        "results": [_group_data(group) for group in signature.results],
    }


def _signature(data: _Data) -> Signature:
    arguments, results = (tuple(_group(group) for group in data[name]) for name in ("arguments", "results"))
    return Signature(data["name"], arguments, results)


def _group_data(group: Group) -> _List:
    shape = None if group.shape is None else [str(group.shape.layout), group.shape.shape]
    parts = [[part.name, dtype_name(part.dtype), part.shape, part.extent, part.vector] for part in group.parts]
    return [parts, shape]


def _group(data: _List) -> Group:
    parts = [
        Part(name, _dtype(dtype), None if shape is None else tuple(shape), extent, vector)
        for name, dtype, shape, extent, vector in data[0]
    ]
    shape = None if data[1] is None else RaggedShape(Layout.parse(data[1][0]), tuple(data[1][1]))
    return Group(tuple(parts), shape)


def _dtype(name: str) -> np.dtype:
    found = numpy_dtype(name)
    assert found is not None
    return found


def _array_data(array: np.ndarray) -> _List:
    return [dtype_name(array.dtype), array.shape, base64.b64encode(array.tobytes()).decode()]


def _array(data: _List) -> np.ndarray:
    dtype, shape, content = data
    return np.frombuffer(base64.b64decode(content), _dtype(dtype)).reshape(shape).copy()
