"""The ops of `ragged_transform`.

Handles point to payload ops. An op that changes more of the payload than attributes consumes its handle, and with it
all that point into what the handle points to, and returns a new one: MLIR's interpreter then refuses stale handles.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from ragged_dialect._mlir import ext, ir, load_dialect, transform
from ragged_dialect.errors import RaggedError, told_at
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.transform import actions

StringAttr = ir.StringAttr
IntegerAttr = ir.IntegerAttr
AnyOp = transform.AnyOpType
Operand = ext.Operand
Result = ext.Result


class RaggedTransform(ext.Dialect, name="ragged_transform"):  # pyright: ignore[reportCallIssue, reportGeneralTypeIssues]
    """Transform ops for ragged programs."""


class ApplyOp(RaggedTransform.Operation, name="apply"):  # pyright: ignore[reportCallIssue, reportGeneralTypeIssues]
    """Runs a pipeline, passes of ours and of MLIR's, on modules or functions.

    ```mlir
    %g = ragged_transform.apply %f {pipeline = "ragged-fuse,cse"} : (!transform.any_op) -> !transform.any_op
    ```

    Consumes the handle; the new one points to the same modules or functions as they are after it. Named pipelines run
    in parts, `"ragged-to-llvm-pipeline{from=scf to=dense}"`.
    """

    res: Result[AnyOp]  # pyright: ignore[reportInvalidTypeForm]
    target: Operand[AnyOp]  # pyright: ignore[reportInvalidTypeForm]
    pipeline: StringAttr


class MatchOp(RaggedTransform.Operation, name="match"):  # pyright: ignore[reportCallIssue, reportGeneralTypeIssues]
    """Finds ops on ragged tensors, in program order.

    ```mlir
    %x = ragged_transform.match %f {layout = "dr|d", dim = 1} : (!transform.any_op) -> !transform.any_op
    ```

    `name` is that of the op, `layout` that of an operand or result, and `dim` the dim that a structure op is about or
    that a computing op reduces; an attribute that is left out matches any. Nothing found is an empty handle.
    """

    res: Result[AnyOp]  # pyright: ignore[reportInvalidTypeForm]
    target: Operand[AnyOp]  # pyright: ignore[reportInvalidTypeForm]


class SetOp(RaggedTransform.Operation, name="set"):  # pyright: ignore[reportCallIssue, reportGeneralTypeIssues]
    """Says how loop nests are scheduled: those of ops on ragged tensors, before they are lowered, or `scf.forall`.

    ```mlir
    %y = ragged_transform.set %x {schedule = "segment", threads = 128, unroll = 2} : (!transform.any_op) -> !transform.any_op
    ```

    `schedule` is one of `ragged-map-parallel`, `threads` the most threads of a block (on a CPU, 1 keeps a nest on one
    thread), `unroll` the accesses that a thread has in flight. An op that is set has a nest of its own, which those
    after it without settings join. The handle stays valid, and the new one points to the same ops.
    """  # noqa: E501

    res: Result[AnyOp]  # pyright: ignore[reportInvalidTypeForm]
    target: Operand[AnyOp]  # pyright: ignore[reportInvalidTypeForm]


class CheckScopeOp(RaggedTransform.Operation, name="check_scope"):  # pyright: ignore[reportCallIssue, reportGeneralTypeIssues]
    """Refuses the op that a script runs on, which `transform.alternatives` must not replace: the interpreter puts it in
    front of these.

    ```mlir
    ragged_transform.check_scope %m : (!transform.any_op) -> ()
    ```
    """

    target: Operand[AnyOp]  # pyright: ignore[reportInvalidTypeForm]


class _State(Protocol):
    """What the interpreter knows of handles."""

    def get_payload_ops(self, handle: ir.Value) -> Sequence[ir.Operation | ir.OpView]:
        """The ops that a handle points to."""
        ...


class _Results(Protocol):
    """What the results of a transform op point to."""

    def set_ops(self, result: ir.Value, ops: Sequence[ir.Operation]) -> None:
        """Let a result point to ops."""


_CHECK, _SCOPED = "ragged_transform.check_scope", "transform.alternatives"
Action = Callable[[ir.Operation, Sequence[ir.Operation]], Sequence[ir.Operation]]
_ACTIONS: dict[str, tuple[Action, bool]] = {
    "ragged_transform.apply": (actions.apply, True),
    "ragged_transform.match": (actions.match, False),
    "ragged_transform.set": (actions.set, False),
    _CHECK: (actions.check_scope, False),
}
"""What an op does with its targets, to the ops of its result, and whether it consumes its handle."""


def check_scopes(script: ir.Module) -> None:
    """Put checks in front of what replaces its scope in a script."""
    for op in find_ops(script.operation, _SCOPED):
        if not script.context.is_dialect_loaded(RaggedTransform.DIALECT_NAMESPACE):
            load(script.context)
        with ir.InsertionPoint(op), op.location:
            scope = transform.CastOp(AnyOp.get(), op.operands[0]).result
            ir.Operation.create(_CHECK, operands=[scope])


def load(context: ir.Context) -> None:
    """Load the dialect into a context, with what its ops do."""
    load_dialect(context, RaggedTransform)
    with context:
        for name, (action, consumes) in _ACTIONS.items():
            _attach(name, action, consumes)


def _attach(name: str, action: Action, consumes: bool) -> None:
    class Steps(transform.TransformOpInterface):
        @staticmethod
        def apply(op: ir.OpView, rewriter: object, results: _Results, state: _State) -> object:
            return _applied(op, action, results, state)

        @staticmethod
        def allow_repeated_handle_operands(op: ir.OpView) -> bool:
            return False

    class Effects(ir.MemoryEffectsOpInterface):
        @staticmethod
        def get_effects(op: ir.OpView, effects: object) -> None:
            if len(op.operation.operands):  # effects are asked for before the op is verified
                (transform.consumes_handle if consumes else transform.only_reads_handle)(op.op_operands, effects)
            transform.produces_handle(op.results, effects)
            transform.modifies_payload(effects)

    Steps.attach(name)
    Effects.attach(name)


def _applied(op: ir.OpView, action: Action, results: _Results, state: _State) -> object:
    """Exceptions must not pass through the interpreter's frames."""
    try:
        targets = [target.operation for target in state.get_payload_ops(op.operation.operands[0])]
        with op.context, op.location:
            found = action(op.operation, targets)
            for result in op.operation.results:
                results.set_ops(result, found)
    except RaggedError as error:
        name = _SCOPED if op.operation.name == _CHECK else op.operation.name
        op.location.emit_error(f"'{name}' op {error}")
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # of a plug-in, which may call `sys.exit`
        op.location.emit_error(f"internal error in {op.operation.name}: {told_at(error)}")
    else:
        return transform.DiagnosedSilenceableFailure.Success
    return transform.DiagnosedSilenceableFailure.DefiniteFailure
