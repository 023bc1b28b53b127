"""Plug-ins that go wrong where they register: they are named, and nothing is left of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.packages import SUMS, install, opt

from ragged_dialect import extensions, ops
from ragged_dialect.errors import PassError
from ragged_dialect.lowering.gpu.schedules import OWN
from ragged_dialect.passes import registry

WRONG: dict[str, tuple[str, str]] = {
    "import": ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    "missing": ("", "AttributeError: module 'wrong' has no attribute 'register'"),
    "raises": ("def register(): raise ValueError('boom')", "ValueError: boom"),
    "ends": (
        "def register(): raise type('End', (BaseException,), {})('now')",
        "End: now",
    ),
    "no module": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "class Wrong(ext.Dialect, name='wrong'): pass\ndef register(): ops.register_dialect(Wrong, lowering=3)",
        "expected the name of a module, got 3",
    ),
    "no name of a module": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "class Wrong(ext.Dialect, name='wrong'): pass\ndef register(): ops.register_dialect(Wrong, patterns='..')",
        "expected the name of a module, got '..'",
    ),
    "no module of a pipeline": (
        "from ragged_dialect.passes import registry\n"
        "def register(): registry.register_pipeline('wrong-p', 3, 'pipeline')",
        "expected the name of a module, got 3",
    ),
    "no module of a schedule": (
        "from ragged_dialect.passes import registry\n"
        "def register(): registry.register_schedule('wrong-s', None, 'schedule')",
        "expected the name of a module, got None",
    ),
    "no dialect": (
        "from ragged_dialect import ops\ndef register(): ops.register_dialect(3)",
        "expected a dialect class, got 3",
    ),
    "op twice": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "from ragged_dialect.ops.base import RaggedOp\n"
        "class Wrong(ext.Dialect, name='wrong'): pass\n"
        "class A(RaggedOp, name='op', dialect=Wrong): pass\nclass B(RaggedOp, name='op', dialect=Wrong): pass\n"
        "def register(): ops.register_dialect(Wrong)",
        "expected one class of an op, got two of 'wrong.op'",
    ),
    "dialect of the wheel": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "class Wrong(ext.Dialect, name='stablehlo'): pass\ndef register(): ops.register_dialect(Wrong)",
        "expected a new dialect name, got 'stablehlo', which is registered",
    ),
    "another dialect of the wheel": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "class Wrong(ext.Dialect, name='tm_tensor'): pass\ndef register(): ops.register_dialect(Wrong)",
        "expected a new dialect name, got 'tm_tensor', which is registered",
    ),
    "exits": ("import sys\nsys.exit(0)", "SystemExit: 0"),
    "is a generator": ("def register(): yield", "TypeError: expected nothing from register, got generator"),
    "is a coroutine": ("async def register(): pass", "TypeError: expected nothing from register, got coroutine"),
    "is neither": ("async def register(): yield", "TypeError: expected nothing from register, got async_generator"),
    "ends the process": (
        "def register(): raise type('E', (Exception,), {'__str__': lambda self: exit(0)})",
        "E",
    ),
    "tells nothing": (
        "class End(Exception):\n  def __str__(self): return 1 / 0\ndef register(): raise End",
        "End",
    ),
    "twice": (
        "from ragged_dialect.passes import registry\n"
        "def register():\n  registry.register('wrong-a', None)\n  registry.register('wrong-a', None)",
        "expected a new pass name, got 'wrong-a', which is registered",
    ),
    "taken": (
        "from ragged_dialect.passes import registry\n"
        "def register():\n  registry.register('wrong-a', None)\n"
        "  registry.register_pipeline('ragged-fuse', 'wrong', 'f')",
        "expected a new pipeline name, got 'ragged-fuse', which is registered",
    ),
    "taken by a pass of MLIR": (
        "from ragged_dialect.passes import registry\n"
        "def register():\n  registry.register('wrong-a', None)\n  registry.register('canonicalize', None)",
        "expected a new pass name, got 'canonicalize', which is registered",
    ),
    "taken by a pipeline of MLIR": (
        "from ragged_dialect.passes import registry\n"
        "def register(): registry.register_pipeline('buffer-deallocation-pipeline', 'wrong', 'f')",
        "expected a new pipeline name, got 'buffer-deallocation-pipeline', which is registered",
    ),
    "dialect": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "class Wrong(ext.Dialect, name='wrong'): pass\n"
        "def register():\n  ops.register_dialect(Wrong)\n  ops.register_dialect(Wrong)",
        "expected a new dialect name, got 'wrong', which is registered",
    ),
    "dialect of MLIR": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "class Wrong(ext.Dialect, name='tensor'): pass\ndef register(): ops.register_dialect(Wrong)",
        "expected a new dialect name, got 'tensor', which is registered",
    ),
    "name of a pass": (
        "from ragged_dialect.passes import registry\ndef register(): registry.register('wrong a', None)",
        "expected a name of two or more small letters, digits and '-', got 'wrong a'",
    ),
    "no name of a pipeline": (
        "from ragged_dialect.passes import registry\ndef register(): registry.register_pipeline(3, 'wrong', 'f')",
        "expected a name of two or more small letters, digits and '-', got 3",
    ),
    "name of a dialect": (
        "from ragged_dialect import ops\nfrom ragged_dialect._mlir import ext\n"
        "class Wrong(ext.Dialect, name='wrong dialect'): pass\ndef register(): ops.register_dialect(Wrong)",
        "expected a name of MLIR for a dialect, got 'wrong dialect'",
    ),
}


NOWHERE = ("missing",)
"""What is wrong at no line of its own."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("how", WRONG)
def test_plugins_that_go_wrong(how: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """They are named, and leave nothing; programs that do not need them run."""
    text, reason = WRONG[how]
    (folder / "wrong.py").write_text(text)
    install(folder, "wrong", "wrong:register")
    before = registry.names(), registry.pipelines(), extensions.names(), dict(ops.OPS)
    assert opt(folder, "--cse") == 0
    capfd.readouterr()
    assert opt(folder, "--wrong-a") == 1
    found = capfd.readouterr()
    assert found.out == ""
    expected = f"ragged-opt: expected plug-in 'wrong:register' to register what it adds, got {reason}"
    assert re.sub(r" \(wrong.py:\d\)\n$", "", found.err).rstrip() == expected
    assert ("(wrong.py:" in found.err) == (how not in NOWHERE)
    assert (registry.names(), registry.pipelines(), extensions.names(), ops.OPS) == before


GIVEN = {
    "register('wrong-c', lambda: int)": "expected a pass class of 'wrong-c', got type",
    "register('wrong-c', None)": "expected a pass class of 'wrong-c', got TypeError: 'NoneType' object is not callable",
    "register('wrong-c', lambda: __import__('sys').exit(0))": "expected a pass class of 'wrong-c', got SystemExit: 0",
    "register('wrong-c', lambda: RaggedPass)": "expected a pass class of 'wrong-c', got type",
    "register_pipeline('wrong-c', 'wrong', 'no_type')": (
        "expected options of 'wrong-c', got NameError: name 'Nothing' is not defined"
    ),
    "register_pipeline('wrong-c', 'wrong', 'no_names')": "expected stages of 'wrong-c', got tuple",
    "register('wrong-c', lambda: 1 / 0)": "expected a pass class of 'wrong-c', got ZeroDivisionError: division by zero",
    "register_pipeline('wrong-c', 'no_such_module', 'f')": "expected a function of 'wrong-c', got ModuleNotFoundError",
    "register_pipeline('wrong-c', 'os', 'sep')": "expected a function of 'wrong-c', got str",
    "register_pipeline('wrong-c', 'os', 'getcwd')": "expected stages of 'wrong-c', got tuple",
    "register_pipeline('wrong-c', 'os', 'abort_')": "expected a function of 'wrong-c', got AttributeError",
}


def test_a_pipeline_without_a_module_is_not_listed(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.py").write_text(
        "from ragged_dialect.passes import registry\n"
        "def register(): registry.register_pipeline('wrong-c', 'no_such_module', 'f')"
    )
    assert opt(folder, "--load-pass-plugin=wrong", "--list-passes") == 1
    message = "expected a description of 'wrong-c', got ModuleNotFoundError: No module named 'no_such_module'"
    assert message in capfd.readouterr().err


@pytest.mark.parametrize("what", GIVEN)
def test_what_is_given_for_a_name(what: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.py").write_text(
        "from ragged_dialect.passes import registry\nfrom ragged_dialect.passes.base import RaggedPass\n"
        f"def register(): registry.{what}\n"
        "class Part:\n  text = 'cse'\n"
        "def no_type(a: 'Nothing' = 1): return ()\n"
        "def no_names(): return (Part(),)\n"
    )
    assert opt(folder, "--load-pass-plugin=wrong", "--wrong-c") == 1
    assert capfd.readouterr().err.startswith(f"ragged-opt: {GIVEN[what]}")


WRONG_SCHEDULES = {
    "'os', 'sep'": "expected a schedule of 'wrong-s', got str",
    "'os', 'zz'": "expected a schedule of 'wrong-s', got AttributeError: module 'os' has no attribute 'zz'",
    "'wrong', 'RAISES'": (
        "internal error in fission-ragged-foralls on 'scf.forall': ZeroDivisionError: division by zero (wrong.py:3)"
    ),
    "'wrong', 'SAYS'": "on 'scf.forall': TypeError: expected a bool from fits of 'wrong-s', got str",
    "'wrong', 'COUNTS'": "expected threads among (1, 32, 64, 128, 256, 512, 1024) from most_threads of 'wrong-s'",
    "'wrong', 'LEAVES'": "expected 'wrong-s' to replace the forall by kernels, got it as it was",
    "'wrong', 'DROPS'": "expected 'wrong-s' to replace the forall by kernels, got none",
    "'wrong', 'ERASES'": "TypeError: expected 'scf.forall' to be left where it is, got it erased (wrong.py:8)",
    "'wrong', 'AROUND'": "expected an op that no pass is running on, got 'func.func' to erase (wrong.py:9)",
    "'wrong', 'FEWER'": "of at least 64 from most_threads of 'wrong-s', got 32 (wrong.py:10)",
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("what", WRONG_SCHEDULES)
def test_schedules_that_go_wrong(what: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.py").write_text(
        "from ragged_dialect.lowering.gpu.schedules import Schedule\nfrom ragged_dialect.passes import registry\n"
        "RAISES = Schedule(lambda forall: 1 / 0, print)\n"
        "SAYS = Schedule(lambda forall: 'yes', print)\n"
        "COUNTS = Schedule(lambda forall: True, print, lambda forall: 'many')\n"
        "LEAVES = Schedule(lambda forall: True, lambda *given: None)\n"
        "DROPS = Schedule(lambda forall: True, lambda forall, *given: forall.erase())\n"
        "ERASES = Schedule(lambda forall: not forall.erase(), print)\n"
        "AROUND = Schedule(lambda forall: forall.block.owner.erase(), print)\n"
        "FEWER = Schedule(lambda forall: True, print, lambda forall: 32, 64)\n"
        f"def register(): registry.register_schedule('wrong-s', {what})"
    )
    (folder / "in.mlir").write_text(SUMS)
    pipeline = "--pass-pipeline=ragged-to-gpu-pipeline{schedule=wrong-s}"
    assert opt(folder, "--load-pass-plugin=wrong", pipeline) == 1
    assert WRONG_SCHEDULES[what] in capfd.readouterr().err


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("3, print", "expected a function as fits of a schedule, got 3"),
        ("print, print, print, 'many'", "expected least_threads among (1, 32, 64, 128, 256, 512, 1024), got 'many'"),
        ("print, print, print, 1, 'no'", "expected a bool as has_tiles, got 'no'"),
    ],
)
def test_schedules_that_are_wrong_in_themselves(
    given: str, text: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (folder / "wrong.py").write_text(
        f"from ragged_dialect.lowering.gpu.schedules import Schedule\nWRONG = Schedule({given})\ndef register(): pass"
    )
    assert opt(folder, "--load-pass-plugin=wrong", "--cse") == 1
    assert f"{text} (wrong.py:2)" in capfd.readouterr().err


def test_schedules_have_new_names(folder: Path) -> None:
    for name in ("auto", "general", "balanced", "segment", "contract"):
        with pytest.raises(PassError, match=f"expected a new schedule name, got '{name}', which is registered"):
            registry.register_schedule(name, "os", "sep")
    registry.register_schedule("wrong-s", "os", "sep")
    with pytest.raises(PassError, match="which is registered"):
        registry.register_schedule("wrong-s", "os", "sep")
    assert {"auto", *OWN} == set(registry.OWN_SCHEDULES)
