"""A compiled device program, and its form as bytes."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ragged_dialect.checks import Check
from ragged_dialect.layout import Layout
from ragged_dialect.runtime.host_program import HostProgram
from ragged_dialect.runtime.signature import Group, Part, Signature, dtype_name, numpy_dtype
from ragged_dialect.shape import RaggedShape

_FORMAT = "ragged-dialect device program"


@dataclass(frozen=True)
class DeviceProgram:
    """All that running a program on a device needs: the signature of its entry, the host program,
    and the kernels as LLVM IR or PTX, empty when it has none."""

    signature: Signature
    host: HostProgram
    kernels: str

    def to_bytes(self) -> bytes:
        """As JSON, which `from_bytes` reads."""
        host = self.host
        data = {
            "format": _FORMAT,
            "name": self.signature.name,
            "arguments": [_group_data(group) for group in self.signature.arguments],
            "results": [_group_data(group) for group in self.signature.results],
            "source": host.source,
            "constants": {name: _array_data(array) for name, array in host.constants.items()},
            "checks": host.checks,
            "labels": host.labels,
            "reads_back": host.reads_back,
            "kernels": self.kernels,
        }
        return json.dumps(data).encode()

    @staticmethod
    def from_bytes(content: bytes) -> DeviceProgram:
        """The program that `to_bytes` wrote. ValueError for anything else."""
        data = json.loads(content)
        if not isinstance(data, dict) or data.get("format") != _FORMAT:
            raise ValueError("not a stored program")
        data = cast("dict[str, Any]", data)
        host = HostProgram(
            data["source"],
            {name: _array(array) for name, array in data["constants"].items()},
            tuple(Check(*check) for check in data["checks"]),
            tuple(data["labels"]),
            tuple(data["reads_back"]),
        )
        arguments, results = (tuple(_group(group) for group in data[name]) for name in ("arguments", "results"))
        return DeviceProgram(Signature(data["name"], arguments, results, False), host, data["kernels"])


def _group_data(group: Group) -> list[Any]:
    shape = None if group.shape is None else [str(group.shape.layout), group.shape.shape]
    parts = [[part.name, dtype_name(part.dtype), part.shape, part.extent, part.vector] for part in group.parts]
    return [parts, shape]


def _group(data: list[Any]) -> Group:
    parts = [
        Part(name, _dtype(dtype), None if shape is None else tuple(shape), extent, vector)
        for name, dtype, shape, extent, vector in data[0]
    ]
    shape = None if data[1] is None else RaggedShape(Layout.parse(data[1][0]), tuple(data[1][1]))
    return Group(tuple(parts), shape)


def _dtype(name: str) -> np.dtype[Any]:
    found = numpy_dtype(name)
    assert found is not None
    return found


def _array_data(array: np.ndarray[Any, np.dtype[Any]]) -> list[Any]:
    return [dtype_name(array.dtype), array.shape, base64.b64encode(array.tobytes()).decode()]


def _array(data: list[Any]) -> np.ndarray[Any, np.dtype[Any]]:
    dtype, shape, content = data
    return np.frombuffer(base64.b64decode(content), _dtype(dtype)).reshape(shape).copy()
