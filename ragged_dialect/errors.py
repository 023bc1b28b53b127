"""The exceptions of the package: one root, `RaggedError`, and what went wrong below it.

A user's mistake surfaces as one of these with a text that says what was expected and what was
found; nothing else is meant to leave the package.
"""

from __future__ import annotations

import reprlib


class RaggedError(RuntimeError):
    """Root of every exception this package raises on purpose. A RuntimeError, as what PyTorch, fvdb and
    FBGEMM raise for shapes, structures and arguments that do not fit; beside that each is what NumPy and
    Python raise: a ValueError, a TypeError, an IndexError."""


class LayoutError(RaggedError, ValueError):
    """A layout, or an op on a layout, that the layout algebra refuses."""


class AxisError(RaggedError, ValueError, IndexError):
    """An axis that an array does not have, as NumPy's error of this name."""


class VerifyError(RaggedError):
    """IR that does not parse or does not verify; carries the diagnostics as text."""


class PassError(RaggedError):
    """A pass or a pipeline that failed, or pipeline text that names no known pass or option."""


class CompileError(RaggedError):
    """A program that cannot be lowered to the asked target."""


class ArgumentError(RaggedError, TypeError):
    """Arguments of a compiled function with a wrong count, dtype, rank or static extent."""


class TraceError(ArgumentError):
    """A traced value that is asked for what only a call knows, or that left its function."""


class TraceAttributeError(TraceError, AttributeError):
    """An attribute of arrays that a traced value does not have: what `hasattr` takes for an answer."""


class RuntimeCheckError(RaggedError, ValueError):
    """Data that a run-time check refused: offsets, lengths, indices, or structures that differ."""


class RangeError(RuntimeCheckError, IndexError):
    """An index that a run-time check found out of range."""


class DeviceError(RaggedError):
    """A GPU that is missing, too old for the program, out of memory, or that stopped."""


class RankError(RaggedError):
    """A rank of a group that failed, left, runs another program, sent what it must not, or does not answer: raised on
    every rank."""


class AllocationError(RaggedError, MemoryError):
    """Memory that a program needs and that there is not; nothing of the call is left."""


class DeviceMemoryError(AllocationError, DeviceError):
    """Memory that a program needs on a device and that there is not."""


class MissingPackageError(RaggedError, ImportError):
    """A package that a conversion needs and that is not installed; the text says what to install."""


class EmulatorError(RaggedError):
    """A kernel that the emulator cannot run, or what it found wrong while running one."""


def wrong_answer(message: str, by: object) -> TypeError:
    """The error of what `by`, a function of a plug-in, gives where it is asked for something else."""
    error = TypeError(message)
    setattr(error, "by", by)
    return error


MASKED = "expected an array without a mask, got a masked one (use its filled or compressed)"
"""Of masked arrays of NumPy, whose masks would be lost."""


def told(error: BaseException) -> str:
    """An exception of somebody else's code as a text: its type, and what it says, unless it fails at that."""
    return f"{type(error).__name__}: {said}" if (said := said_by(error)) is not None else type(error).__name__


def brief(value: object) -> str:
    """What an error shows of a value that somebody gave, which may be long, deep, or no good at showing itself."""
    return reprlib.repr(value)


def said_by(error: BaseException) -> str | None:
    """The text of an exception of somebody else's code, None where it fails at that, or ends the process."""
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException:
        return None


def told_at(error: BaseException, own: bool = True, by: object = None) -> str:
    """As `told`, and where, as `place_of`."""
    return told(error) + place_of(error, own, by)


def place_of(error: BaseException, own: bool = True, by: object = None) -> str:
    """Where an exception was raised, in brackets: the last line of a plug-in, and what of ours raised what that led to.
    Where only lines of ours did, it is about what `by`, a function of a plug-in, has given, and the place is its own.
    Lines of Python's library and of the bindings are no places, with `own=False` ours are none either."""
    from os.path import basename  # start-up time
    from sys import stdlib_module_names
    from traceback import walk_tb

    package = __name__.split(".")[0]
    others = {*stdlib_module_names, "mlir", "torch_mlir"}
    places: list[str] = []
    foreign = 0
    first = ""
    for frame, line in walk_tb(error.__traceback__):
        module = str(frame.f_globals.get("__name__"))
        root = module.split(".")[0]
        is_own = root == package
        patched = module in (f"{package}.handles", f"{package}.erasing")  # methods of the bindings
        if root in others or patched or (is_own and not own) or frame.f_code.co_filename.startswith("<"):
            continue
        if not is_own:
            first = first or root
            if root != first:  # of a package that a plug-in uses
                continue
        foreign = foreign if is_own else 1
        places = [*(places[:foreign] if is_own else []), f"{basename(frame.f_code.co_filename)}:{line}"]
    code = getattr(vars(error).get("by", by), "__code__", None)
    if not foreign and code is not None:
        places = [f"{basename(code.co_filename)}:{code.co_firstlineno}"]
    return f" ({', through '.join(places)})" if places else ""


def is_own(code: object) -> bool:
    """Whether a function or class is of this package."""
    return str(getattr(code, "__module__", "")).split(".")[0] == __name__.split(".")[0]


def kind_of(found: object) -> str:
    """The type of what a function of a plug-in gives, for an error. A coroutine is closed: else Python warns that
    nobody has waited for it."""
    if hasattr(type(found), "cr_frame"):
        found.close()  # type: ignore[attr-defined]
    return type(found).__name__


def require_nothing(found: object, name: str, by: object) -> None:
    """TypeError where a function `by` of a plug-in gives something though it is called for what it does: a generator
    has done nothing."""
    if found is not None:
        raise wrong_answer(f"expected nothing from {name}, got {kind_of(found)}", by)
