"""The only module that picks and patches the MLIR Python bindings.

Everything else imports the bindings from here: `from ragged_dialect._mlir import ir, ext`;
dialect modules (`arith`, `linalg`, …) load on first use. Two packages can provide the bindings,
`mlir` (under their own name) and `torch_mlir` (the wheel on PyPI that carries them); the order is
RAGGED_MLIR_PACKAGE, the one already imported, `mlir`, `torch_mlir`. Never mix two in a process:
their objects are not interchangeable.
"""

import functools
import importlib
import importlib.util
import sys
import types
from collections.abc import Callable, Iterable
from inspect import signature
from typing import TYPE_CHECKING, Any, TypeAlias

from ragged_dialect import handles, locks
from ragged_dialect.errors import MissingPackageError, PassError, told_at
from ragged_dialect.foreign_llvm import own_llvm
from ragged_dialect.mlir_packages import candidates

_REQUIRED = ("ir", "passmanager", "rewrite", "dialects.ext", "dialects.irdl", "dialects.linalg", "execution_engine")


class _LaterNumpy(types.ModuleType):
    """Stands for NumPy inside `ir`, which needs it for four attribute builders only; importing it
    takes as long as everything else in ragged-opt."""

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module("numpy"), name)


def _import_ir(package: str) -> None:
    if f"{package}.ir" in sys.modules:
        return
    stand_in = None if "numpy" in sys.modules else _LaterNumpy("numpy")
    if stand_in is not None:
        sys.modules["numpy"] = stand_in
    try:
        with own_llvm():
            importlib.import_module(f"{package}.ir")
    finally:
        if sys.modules.get("numpy") is stand_in:
            del sys.modules["numpy"]


def _missing(package: str) -> str | None:
    """Why a package cannot provide the bindings; None when it can. Looks, and imports only `ir`."""
    try:
        _import_ir(package)
        for module in _REQUIRED:
            if importlib.util.find_spec(f"{package}.{module}") is None:
                return f"{package}: no module {package}.{module}"
    except (ImportError, TypeError, ValueError) as error:  # also of what is no name of a package
        return f"{package}: {error}"
    return None


def _select() -> str:
    reasons: list[str] = []
    for name in candidates():
        reason = _missing(name)
        if reason is None:
            return name
        reasons.append(reason)
    raise MissingPackageError("expected MLIR Python bindings, got none that can be used: " + "; ".join(reasons))


PACKAGE = _select()


def _import(module: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.{module}")


if TYPE_CHECKING:
    from torch_mlir import ir as ir
    from torch_mlir import passmanager as passmanager  # stubs: typings/

    # Modules made of TableGen records; results of their builders are checked where they are used.
    affine: Any
    arith: Any
    bufferization: Any
    execution_engine: Any
    func: Any
    gpu: Any
    index: Any
    irdl: Any
    linalg: Any
    llvm: Any
    math: Any
    memref: Any
    nvvm: Any
    rewrite: Any
    scf: Any
    tensor: Any
    transform: Any
    vector: Any
else:
    ir = _import("ir")
    passmanager = _import("passmanager")
ext: Any = _import("dialects.ext")

Op: TypeAlias = "ir.Operation | ir.OpView"
"""An operation, in either of the forms that the bindings hand out."""

# `linalg` is the extension module alone: the Python module of that name builds the whole operator
# definition language on import, which takes longer than most runs of the tools.
_LAZY = {
    "rewrite": "rewrite",
    "execution_engine": "execution_engine",
    "linalg": "_mlir_libs._mlirDialectsLinalg",
}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # every import in a function asks for `__path__`
        raise AttributeError(name)
    try:
        module = _import(_LAZY.get(name, f"dialects.{name}"))
    except ImportError as error:
        raise AttributeError(name) from error
    globals()[name] = module
    return module


def _patch() -> None:
    # Without a module for the dialect the bindings retry a failing import for every wrapper they
    # make (12 us each, 0.2 us with it). Ours comes first: its empty `linalg` keeps the bindings from
    # importing theirs as soon as they see such an op.
    library = _import("_mlir_libs._mlir")
    registry = library.globals
    registry.dialect_search_modules = ["ragged_dialect.mlir_dialects", *registry.dialect_search_modules]
    # The builders of `ext` treat falsy attributes (false, empty arrays) as absent.
    ext.AttributeDef.process_attr = _process_attr
    # IRDL's base constraint goes by this name, which the wheel leaves out; it matches any width.
    vars_of: Any = ir.DenseI64ArrayAttr
    vars_of.attr_name = "builtin.dense_array"
    handles.check(ir, library)


def _process_attr(field: Any, attr: Any) -> Any:
    if attr is not None:
        return attr
    return field.default_factory() if field.default_factory else None


_patch()
_load_lock = locks.lock()

DYNAMIC: int = ir.ShapedType.get_dynamic_size()


def make_context(*dialects: Any) -> ir.Context:
    """A context with Python-defined dialects loaded.

    Multithreading is off: a Python callback (verifier, pass) called from MLIR's thread pool
    deadlocks on the interpreter lock. Loading is locked: two threads in it crash.
    """
    context = ir.Context()
    context.enable_multithreading(False)
    with context, ir.Location.unknown(), _load_lock:
        _register_casters()
    for dialect in dialects:
        load_dialect(context, dialect)
    return context


@functools.cache
def _register_casters() -> None:
    """Give attributes whose elements Python has no class for, and locations that are attributes, as `ir.Attribute`: the
    bindings raise where one of them is read, which ends the process where C++ reads it for Python."""
    kinds = ("I32", "I64", "Bool", "I16", "I8", "F32", "F64")
    arrays = [getattr(ir, f"Dense{kind}ArrayAttr") for kind in kinds]
    bit = ir.IntegerType.get_signless(1)
    elements = ir.DenseElementsAttr.get_splat(ir.RankedTensorType.get([1], bit), ir.IntegerAttr.get(bit, 0))

    def array(attribute: ir.Attribute) -> ir.Attribute:
        for kind in arrays:
            try:
                return kind(attribute)
            except ValueError:
                continue
        return attribute

    def tensor(attribute: ir.Attribute) -> ir.Attribute:
        element = ir.ShapedType(ir.DenseElementsAttr(attribute).type).element_type
        if isinstance(element, ir.FloatType):
            return ir.DenseFPElementsAttr(attribute)
        return ir.DenseIntElementsAttr(attribute) if isinstance(element, (ir.IntegerType, ir.IndexType)) else attribute

    _register_caster(ir.DenseI64ArrayAttr.get([]).typeid, array)
    _register_caster(elements.typeid, tensor)
    for kind in ("UnknownLoc", "FileLineColLoc", "NameLoc", "FusedLoc", "CallSiteLoc"):
        cls = getattr(ir, kind)
        _register_caster(cls.static_typeid, functools.partial(_location, cls))


def _location(cls: Callable[[object], object], found: object) -> object:
    return found if isinstance(found, ir.Attribute) else cls(found)


def load_dialect(context: ir.Context, dialect: Any) -> None:
    """Load a Python-defined dialect that a context has not. PassError for one whose classes declare what cannot be."""
    again = {"reload": True} if "reload" in signature(dialect.load).parameters else {}  # in newer bindings
    with context, ir.Location.unknown(), _load_lock:
        try:
            dialect.load(**again)
        except Exception as error:
            name = dialect.DIALECT_NAMESPACE
            raise PassError(f"expected a dialect that can be loaded, got '{name}': {told_at(error, False)}") from error
        dialect._mlir_module = None  # the class would keep the last context alive
        for class_, id_ in [
            *((each, ir.DynamicType.lookup_typeid(each.type_name)) for each in dialect.types),
            *((each, ir.DynamicAttr.lookup_typeid(each.attr_name)) for each in dialect.attributes),
        ]:
            _register_caster(id_, functools.partial(_if_it_is, class_))


def _if_it_is(cls: Callable[[object], object], found: object) -> object:
    """`found` as a dialect's class, if it is of that class. Casters outlive their context, and what a later context
    defines can have the identifier that was theirs: then it stays what it is."""
    try:
        return cls(found)
    except (TypeError, ValueError):
        return found


def _register_caster(identifier: object, caster: Callable[..., object]) -> None:
    getattr(ir, "register_type_caster")(identifier, replace=True)(caster)  # the stubs lack it


def has_dialect(name: str) -> bool:
    """Whether MLIR has a dialect of that name itself, or registers it where a program uses it."""
    context = ir.Context()
    register_carried("".join(f"{dialect}." for dialect in (*_CARRIED, *_WITH_PASS)), context)
    try:
        context.get_dialect_descriptor(name)
    except ValueError:
        return False
    return True


def mlir_version() -> str:
    """Provider package, its version, and the LLVM version where the provider tells it."""
    from importlib import metadata  # start-up time

    names = {"torch_mlir": "torch-mlir", "mlir": "mlir-python-bindings"}
    try:
        version = metadata.version(names.get(PACKAGE, PACKAGE))
    except metadata.PackageNotFoundError:
        version = "unknown"
    return f"{PACKAGE} {version}"


def attach_effects(op_name: str, effects: Callable[[Any], Iterable[tuple[Any, Any]]]) -> None:
    """Give an op memory effects. `effects(op)` yields (effect, target or None) pairs."""

    def instances(op: Any) -> list[tuple[Any, ...]]:
        return [(effect,) if target is None else (effect, target) for effect, target in effects(op)]

    # Newer bindings take a list of instances as the result, older ones pass a list to fill.
    class Returning(ir.MemoryEffectsOpInterface):
        @staticmethod
        def get_effects(op: Any) -> Any:
            return [make(*instance) for instance in instances(op)]

    class Filling(ir.MemoryEffectsOpInterface):
        @staticmethod
        def get_effects(op: Any, filled: Any) -> None:
            for instance in instances(op):
                filled.append(*instance)

    make: Any = getattr(ir, "MemoryEffectInstance", None)
    model: Any = Filling if make is None else Returning
    model.attach(op_name)


# Dialects that torch-mlir's wheel has beside MLIR's own: the module that registers them, or a pass that needs them.
_CARRIED = {"torch": "_torchMlir", "stablehlo": "_stablehlo"}
_WITH_PASS = ("tm_tensor", "torch_c")
_THEIR_PASS = "builtin.module(func.func(convert-torch-to-tmtensor))"


def _carried(modules: Iterable[str]) -> list[types.ModuleType]:
    try:
        return [_import(f"_mlir_libs.{module}") for module in modules]
    except ImportError:  # other bindings have none
        return []


def register_carried(program: str | bytes, context: ir.Context) -> None:
    """Register the dialects that only this wheel has, where a program may use them."""

    def used(dialect: str) -> bool:
        return f"{dialect}." in program if isinstance(program, str) else dialect.encode() in program

    for module in _carried(_CARRIED[dialect] for dialect in _CARRIED if used(dialect)):
        module.register_dialect(context)
    if any(map(used, _WITH_PASS)) and _carried(["_torchMlir"]):
        nothing = ir.Module.create(ir.Location.unknown(context))
        passmanager.PassManager.parse(_THEIR_PASS, context).run(nothing.operation)


def register_carried_passes() -> None:
    """Register the passes that only this wheel has."""
    _carried(_CARRIED.values())


def load_irdl(module: ir.Module) -> None:
    """Load the dialects that a module of IRDL defines."""
    _import("dialects.irdl").load_dialects(module)
