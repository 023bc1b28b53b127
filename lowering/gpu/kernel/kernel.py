"""A `gpu.func` under construction: parameters for what a device body captures, views inside, launch.

Parameters are few and simple: one pointer per buffer (a rank-0 memref that promises alignment and, where
it holds, no aliasing) and one scalar per extent or host value; views are made inside. That is what makes
ptxas use read-only and wide loads.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ragged_dialect._mlir import DYNAMIC, gpu, ir, memref
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import clone
from ragged_dialect.ir.match import constant_int, definer, defining_op, is_read, made_by, terminator
from ragged_dialect.lowering.attributes import WIDE
from ragged_dialect.lowering.buffers.subviews import VIEWS, is_buffer, is_constant, may_overlap, only_read
from ragged_dialect.lowering.gpu.kernel.shared_memory import shared_size
from ragged_dialect.lowering.gpu.kernel.status import Guards
from ragged_dialect.passes.base import PassFailure

NARROW = "_i32"
"""What the names of kernels with 32-bit indices end in, where they stand beside those with 64."""


Inside: TypeAlias = "ir.Value | tuple[str, ir.Value] | tuple[str, ir.Value, int]"
"""What has a value inside: a host value, the pointer of a buffer, an extent of one."""


@dataclass
class Parameter:
    """A kernel parameter: the host value it is given, its type inside."""

    host: ir.Value
    type: ir.Type
    attributes: dict[str, ir.Attribute]


@dataclass
class Kernel:
    """Parameters and body of a kernel; ops are emitted at `end` of the body. `shared_left` are the bytes of
    shared memory that are not taken. A block has `threads` that share what is to be done, or `teams` of so many."""

    name: str
    threads: int
    module: ir.Operation
    guards: Guards = field(default_factory=Guards)
    teams: int = 1
    parameters: list[Parameter] = field(default_factory=list[Parameter])
    inside: dict[Inside, ir.Value] = field(default_factory=dict[Inside, ir.Value])
    shared_left: int = DEVICE.shared_bytes
    op: ir.Operation = field(init=False)
    body: ir.Block = field(init=False)

    # Opening ----------------------------------------------------------------------------------------

    def open(self) -> None:
        """Make the function, empty."""
        with ir.InsertionPoint(self.module.regions[0].blocks[0]):
            self.op = ir.Operation.create(
                "gpu.func",
                attributes={
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
                    "sym_name": ir.StringAttr.get(self.name),
                    "kernel": ir.UnitAttr.get(),
                    "workgroup_attributions": ir.IntegerAttr.get(build.i64(), 0),
                    "known_block_size": ir.DenseI32ArrayAttr.get([self.block, 1, 1]),
                },
                regions=1,
            )
            self.keep_resident(DEVICE.resident)
            entry = self.op.regions[0].blocks.append()
        with ir.InsertionPoint(entry):
            ir.Operation.create("gpu.return")
        self.body = entry
        for buffer in self.guards.buffers:
            with ir.InsertionPoint(self.end):
                self.guard(build.equal(memref.load(self.pointer(buffer), []), 0))

    @property
    def block(self) -> int:
        """Threads of a block."""
        return self.threads * self.teams

    def keep_resident(self, threads: int) -> None:
        """Leave a thread no more registers than `threads` of them on a multiprocessor have."""
        blocks = max(1, min(DEVICE.bounded_blocks, threads // self.block))
        self.op.attributes["nvvm.minctasm"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(32), blocks)

    def guard(self, condition: ir.Value) -> None:
        """What follows runs when a condition holds: the gate of a block is open, or a thread has something to do."""
        with ir.InsertionPoint(self.end), flow.when(condition):
            self.body = ir.InsertionPoint.current.block

    @property
    def end(self) -> ir.Operation:
        """The terminator of the body."""
        return terminator(self.body)

    # Parameters -------------------------------------------------------------------------------------

    def _parameter(self, host: ir.Value, type_: ir.Type, attributes: dict[str, ir.Attribute]) -> ir.Value:
        argument = self.op.regions[0].blocks[0].add_argument(type_, ir.Location.current)
        self.parameters.append(Parameter(host, type_, attributes))
        return argument

    def pointer(self, buffer: ir.Value) -> ir.Value:
        """The pointer of a host buffer, as a rank-0 memref."""
        key: Inside = ("pointer", buffer)
        if key not in self.inside:
            if isinstance(buffer.type.layout, ir.StridedLayoutAttr):
                raise PassFailure(self.module, f"expected whole buffers on the host, got {buffer.type}")
            type_ = ir.MemRefType.get([], buffer.type.element_type)
            if isinstance(buffer.type.element_type, ir.IndexType):
                self.op.attributes[WIDE] = ir.UnitAttr.get()  # those in memory have 64 bits
            self.inside[key] = self._parameter(buffer, type_, {"llvm.align": _aligned()["llvm.align"]})
        return self.inside[key]

    def scalar(self, host: ir.Value) -> ir.Value:
        """A host scalar inside: a constant again, else a parameter."""
        key = _scalar_key(host)
        if key not in self.inside:
            if is_constant(host):
                with ir.InsertionPoint.at_block_begin(self.op.regions[0].blocks[0]):
                    self.inside[key] = definer(host).clone().operation.results[0]
            else:
                self.inside[key] = self._parameter(host, host.type, {})
        return self.inside[key]

    def number(self, host: Mixed) -> Mixed:
        """A size of the host inside."""
        return host if isinstance(host, int) else self.scalar(host)

    def extent(self, buffer: ir.Value, dim: int, launch: ir.Operation) -> Mixed:
        """An extent of a host buffer inside. `launch` is the op before which the host takes it."""
        size = buffer.type.shape[dim]
        if size != DYNAMIC:
            return size
        key: Inside = ("dim", buffer, dim)
        if key not in self.inside:
            with ir.InsertionPoint(launch):
                host = memref.dim(buffer, build.value(dim))
            self.inside[key] = self._parameter(host, build.index_type(), {})
        return self.inside[key]

    def value(self, host: ir.Value, launch: ir.Operation) -> ir.Value:
        """Any host value inside, at the current insertion point: buffers as views, views made again,
        scalars as parameters."""
        if host in self.inside:
            return self.inside[host]
        op = defining_op(host)
        if not is_buffer(host):
            return self.scalar(host)
        if op is not None and op.name in VIEWS:
            made = clone(op, {x: self.value(x, launch) for x in op.operands}).results[0]
        else:
            sizes = [self.extent(host, k, launch) for k in range(host.type.rank)]
            made = whole_view(self.pointer(host), sizes, host.type.element_type)
        self.inside[host] = made
        return made

    def workgroup(self, type_: ir.MemRefType) -> ir.Value:
        """A buffer in shared memory, of which it takes some. Only once all parameters are known."""
        self.shared_left -= shared_size(type_)
        count = self.op.attributes["workgroup_attributions"].value + 1
        self.op.attributes["workgroup_attributions"] = ir.IntegerAttr.get(build.i64(), count)
        self.op.attributes["workgroup_attrib_attrs"] = ir.ArrayAttr.get([_aligned()] * count)
        shared = ir.MemRefType.get(
            type_.shape, type_.element_type, None, ir.Attribute.parse("#gpu.address_space<workgroup>")
        )
        return self.op.regions[0].blocks[0].add_argument(shared, ir.Location.current)

    @property
    def buffers(self) -> list[ir.Value]:
        """The host buffers that the body captures."""
        return [p.host for p in self.parameters if is_buffer(p.host)]

    # Closing ----------------------------------------------------------------------------------------

    def close(self, grid: Mixed, launch: ir.Operation) -> None:
        """Give the function its type, and launch it before `launch`.

        Only what is read is `noalias`: LLVM holds that no barrier changes such memory, and a thread would
        not see what another has stored to the status record or to scratch."""
        self._drop_unused()
        types = [p.type for p in self.parameters]
        self.op.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
        alone = not may_overlap(self.buffers)
        attributes: list[ir.DictAttr] = []
        for p, argument in zip(self.parameters, self.op.regions[0].blocks[0].arguments, strict=False):
            read = alone and is_buffer(p.host) and only_read(argument)
            extra = {"llvm.noalias": ir.UnitAttr.get()} if read else {}
            attributes.append(ir.DictAttr.get({**p.attributes, **extra}))
        if attributes:
            self.op.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
        with ir.InsertionPoint(launch):
            passed = [_pointer_of(p.host) if is_buffer(p.host) else p.host for p in self.parameters]
            one = build.value(1)
            gpu.LaunchFuncOp(
                [self.module.attributes["sym_name"].value, self.name],
                (build.value(grid), one, one),
                (build.value(self.block), one, one),
                passed,
            )

    def _drop_unused(self) -> None:
        """Parameters that the body does not use go: what it captured may be used by ops that were replaced."""
        entry = self.op.regions[0].blocks[0]
        for k in reversed(range(len(self.parameters))):
            if not is_read(entry.arguments[k]):
                entry.erase_argument(k)
                del self.parameters[k]


def _aligned() -> Any:
    return ir.DictAttr.get({"llvm.align": ir.IntegerAttr.get(build.i64(), DEVICE.access_bytes)})


def _scalar_key(host: ir.Value) -> Inside:
    """Equal for scalars that are the same extent of the same buffer."""
    op = made_by(host, "memref.dim")
    at = None if op is None else constant_int(op.operands[1])
    return host if op is None or at is None else ("dim", op.operands[0], at)


def _pointer_of(buffer: ir.Value) -> ir.Value:
    if not buffer.type.shape:
        return buffer
    return memref.reinterpret_cast(ir.MemRefType.get([], buffer.type.element_type), buffer, [], [], [], [0], [], [])


def whole_view(pointer: ir.Value, sizes: list[Mixed], element: ir.Type) -> ir.Value:
    """A contiguous buffer of some sizes at a pointer."""
    if not sizes:
        return pointer
    strides: list[Mixed] = [1]
    for size in reversed(sizes[1:]):
        strides.insert(0, build.mul(strides[0], size))
    (dyn_sizes, shape), (dyn_strides, steps) = build.split(sizes), build.split(strides)
    type_ = ir.MemRefType.get(shape, element)
    return memref.reinterpret_cast(type_, pointer, [], dyn_sizes, dyn_strides, [0], shape, steps)
