"""What `compile` takes beside a program, checked where it comes in and handed on as one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ragged_dialect.errors import CompileError

TARGETS = ("cpu", "gpu", "emulator", "ptx-emulator", "auto")
_CHECKS = (True, False, "sync")
_SYNC = ("allow", "forbid")


@dataclass(frozen=True)
class KernelOptions:
    """What kernels depend on beside their program: whether it has its run-time checks, with `narrow` 32-bit indices
    where a kernel may have them, `schedule` as `ragged-map-parallel` takes it. They are PTX for `arch`, maybe with
    approximate functions, or without one LLVM IR. CompileError for an unknown arch."""

    check: bool = True
    narrow: bool = True
    schedule: str = "auto"
    arch: str | None = None
    fast_math: bool = False

    def __post_init__(self) -> None:
        from ragged_dialect.ptx.targets import ptx_version  # start-up time

        if self.arch is not None:
            ptx_version(self.arch)


def _is_among(value: object, known: Iterable[object]) -> bool:
    """Whether a value is one of some, whatever it is: arrays compare element by element."""
    return isinstance(value, (str, int, type(None))) and value in known


@dataclass(frozen=True)
class Options:
    """The options of `compile`. CompileError for those that do not fit."""

    target: str = "cpu"
    check: bool | str = True
    arch: str | None = None
    sync: str = "allow"
    fast_math: bool = False
    schedule: str = "auto"
    index_bits: int | None = None

    def __post_init__(self) -> None:
        if not _is_among(self.target, TARGETS):
            raise CompileError(f"expected a target among {', '.join(TARGETS)}, got '{self.target}'")
        if not _is_among(self.check, _CHECKS):
            raise CompileError(f"expected True, False or 'sync' for check, got {self.check!r}")
        if not _is_among(self.sync, _SYNC):
            raise CompileError(f"expected 'allow' or 'forbid' for sync, got {self.sync!r}")
        if not _is_among(self.fast_math, (False, True)):
            raise CompileError(f"expected True or False for fast_math, got {self.fast_math!r}")
        if not _is_among(self.index_bits, (None, 32, 64)):
            raise CompileError(f"expected 32 or 64 index bits, got {self.index_bits}")
        if self.arch is not None and self.target in ("cpu", "emulator"):
            raise CompileError(f"expected no arch for target '{self.target}', got '{self.arch}'")
        for name in ("schedule", "fast_math", "index_bits") if self.target == "cpu" else ():
            if getattr(self, name) != getattr(Options, name):
                raise CompileError(f"expected no {name} for target 'cpu', got '{getattr(self, name)}'")

    def kernels(self, arch: str | None) -> KernelOptions:
        """How kernels are made, in PTX for an architecture or in LLVM IR: that of the emulator, whose indices have
        64 bits unless they are to have 32."""
        narrow = self.index_bits == 32 or (arch is not None and self.index_bits is None)
        return KernelOptions(bool(self.check), narrow, self.schedule, arch, self.fast_math)
