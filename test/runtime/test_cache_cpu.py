"""Programs for the CPU in the cache: machine code, which is run, is what this machine and this user made."""

from __future__ import annotations

import pickle
import re
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cache_attacks import CHANGES, FOREIGN
from support.processes import python
from support.twice import BAD, GOOD, MESSAGE, TWICE, X

import ragged_dialect as rg
from ragged_dialect import CompileError, RuntimeCheckError, compile
from ragged_dialect.arrays.core.spec import spec
from ragged_dialect.arrays.tracing import building
from ragged_dialect.arrays.tracing.operation import OPERATIONS
from ragged_dialect.arrays.tracing.plan import stored_key
from ragged_dialect.checks import Check
from ragged_dialect.compiler import cpu, stored, versions
from ragged_dialect.compiler.loading import runtime
from ragged_dialect.runtime import cache
from ragged_dialect.runtime.machine_code import MachineCode
from ragged_dialect.runtime.signature import Group, Part, Signature
from ragged_dialect.runtime.stored_program import CpuProgram, StoredCode

SQUARED = TWICE.replace("addf", "mulf")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache, below one called `above`."""
    runtime()  # which has entries of its own
    monkeypatch.delenv("RAGGED_CACHE", raising=False)
    monkeypatch.setenv("RAGGED_CACHE_DIR", str(tmp_path / "above" / "cache"))
    monkeypatch.setattr(cache, "_told", [])
    return tmp_path / "above" / "cache"


@pytest.fixture
def lowered(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the entries that were lowered, not taken from the cache."""
    names: list[str] = []
    lower = cpu.lower_for_cpu

    def note(program: Any, **options: Any) -> Any:
        names.append(program.name)
        return lower(program, **options)

    monkeypatch.setattr(cpu, "lower_for_cpu", note)
    return names


def doubled(text: str = TWICE, **options: Any) -> list[float]:
    """What TWICE gives."""
    return compile(text, **options)(GOOD)[0].tolist()


@pytest.fixture
def entry(place: Path) -> Path:
    """The entry for TWICE."""
    assert doubled() == [2, 4, 6]
    (file,) = place.iterdir()
    return file


@pytest.fixture
def planted(entry: Path) -> list[float]:
    """What TWICE gives where its entry has the machine code of another program."""
    content = cache.load(entry.name)
    assert content is not None
    other = cpu._compiled(cpu.lower_for_cpu(SQUARED))
    cache.store(entry.name, replace(CpuProgram.from_bytes(content), code=other.code).to_bytes())
    return [1, 4, 9]


def test_a_second_compilation_is_not_one(place: Path, lowered: list[str]) -> None:
    for _ in range(3):
        assert doubled() == [2, 4, 6]
    assert doubled(TWICE.replace("  ", "    ") + "// the same program") == [2, 4, 6]
    assert lowered == ["twice"]
    (file,) = place.iterdir()
    assert (file.stat().st_mode & 0o777, place.stat().st_mode & 0o777) == (0o600, 0o700)


def test_what_a_program_depends_on(place: Path, lowered: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    doubled()
    doubled(check=False)
    assert doubled(SQUARED) == [1, 4, 9]
    assert len(lowered) == 3
    with monkeypatch.context() as patch:
        patch.setenv("RAGGED_CPU_FEATURES", "-avx512f,-avx2")
        doubled()
        assert len(lowered) == 4
    with monkeypatch.context() as patch:
        patch.setattr(versions, "_host", lambda: ("another CPU",))
        doubled()
        assert len(lowered) == 5
    with monkeypatch.context() as patch:
        patch.setattr(stored, "versions", lambda: ("another",))
        doubled()
        assert len(lowered) == 6
    doubled()
    assert len(lowered) == 6


def test_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAGGED_CPU_FEATURES", raising=False)
    name, libc, *flags = versions.machine()
    assert name
    assert libc == "" or libc.startswith("glibc ")
    has = [flag for flag in flags if flag[0] not in "+-"]
    assert has == sorted(has)


def test_a_program_of_the_cache_is_whole(place: Path, lowered: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Checks, labels and threads are kept with it."""
    text = TWICE.replace("  return", f'  ragged.print %0 {{label = "y"}} : ({X}) -> ()\n  return')
    for _ in range(2):
        function = compile(text)
        with pytest.raises(RuntimeCheckError, match=re.escape(MESSAGE)):
            function(BAD)
        assert function(GOOD)[0].tolist() == [2, 4, 6]
        assert capsys.readouterr().out == "y: [[2.0, 4.0], [], [6.0]]\n"
    assert lowered == ["twice"]


def test_what_is_planted_would_run(planted: list[float]) -> None:
    assert doubled() == planted


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("what", "change", "reason"), CHANGES)
def test_what_another_user_can_write_does_not_run(
    entry: Path, planted: list[float], what: str, change: Callable[[Path], None], reason: str
) -> None:
    assert doubled() == planted
    change({".": entry.parent, "..": entry.parent.parent, "entry": entry}[what])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert doubled() == [2, 4, 6]
    assert len(told) == 1


def test_an_entry_that_is_a_link(entry: Path, planted: list[float]) -> None:
    entry.rename(entry.parent / "elsewhere")
    entry.symlink_to(entry.parent / "elsewhere")
    assert doubled() == [2, 4, 6] != planted


@pytest.mark.sampled(2)
@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b[:90] + b"?" + b[91:], lambda b: b""])
def test_damaged_entries_are_made_anew(entry: Path, lowered: list[str], damage: Any) -> None:
    whole = entry.read_bytes()
    entry.write_bytes(damage(whole))
    assert doubled() == [2, 4, 6]
    assert lowered == ["twice"]
    assert len(entry.read_bytes()) == len(whole)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("content", [*FOREIGN, b'{"format": "ragged-dialect CPU program"}'])
def test_whole_entries_of_something_else(entry: Path, content: bytes) -> None:
    cache.store(entry.name, content)
    assert doubled() == [2, 4, 6]
    assert cache.load(entry.name) != content


def test_what_is_no_machine_code(entry: Path) -> None:
    content = cache.load(entry.name)
    assert content is not None
    cache.store(entry.name, replace(CpuProgram.from_bytes(content), code=b"no object").to_bytes())
    assert doubled() == [2, 4, 6]
    with pytest.raises(ValueError, match="not an object"):
        StoredCode.from_bytes(b"text")
    with pytest.raises(CompileError, match="expected machine code that can be linked, got "):
        MachineCode(b"\x7fELF", ("f",), {})
    with pytest.raises(CompileError, match="expected machine code that can be linked, got "):
        MachineCode(CpuProgram.from_bytes(content).code, (CpuProgram.from_bytes(content).symbol,), {})


def test_programs_as_bytes() -> None:
    parts = (
        Part("values", np.dtype(np.float32), (None, 3)),
        Part("offsets1", np.dtype(np.int64), (None,), vector=True),
    )
    group = Group(parts)
    checks = (Check("index", "ragged.select", 0),)
    program = CpuProgram(Signature("f", (group,), (group,)), "s", checks, ("x",), ("_ZGVdN4v_exp",), True, b"\x7fELF")
    assert CpuProgram.from_bytes(program.to_bytes()) == program


ROWS = rg.from_offsets(np.arange(12, dtype=np.float32).reshape(6, 2), [0, 1, 1, 6])
WINDOWS = rg.from_starts_lengths(np.arange(12, dtype=np.float32).reshape(6, 2), [3, 1], [2, 2])
OPERATIONS_ON: dict[str, Callable[[Any], Any]] = {
    "numbers": lambda x: x * 2 + 0.5,
    "two": lambda x: x + x.astype("f8"),
    "equal lengths": lambda x: x + x,
    "dense": lambda x: x * np.arange(2, dtype=np.float32),
    "softmax": lambda x: rg.softmax(x, axis=1),
    "sum": lambda x: x.sum((0, 1)),
    "padded": lambda x: x.to_padded(0.5),
    "slices": lambda x: x[1:, :2],
    "frexp": lambda x: np.frexp(x)[1],
    "concat": lambda x: rg.concat([x, x], axis=1),
    "tiles": lambda x: (rg.compact(x).split(1, 2) + 1).values,
    "cumsum": lambda x: rg.cumsum(x, axis=1),
}


def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let operations have no programs."""
    for operation in OPERATIONS.values():
        monkeypatch.setattr(operation, "_programs", {})


def told(result: Any) -> Any:
    """A result as nested lists, with its dtype and layout."""
    return (result.tolist(), str(result.dtype), str(getattr(result, "layout", "")))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("x", [ROWS, WINDOWS], ids=["rows", "windows"])
def test_operations_are_not_traced_again(place: Path, x: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten(monkeypatch)
    first = {name: told(call(x)) for name, call in OPERATIONS_ON.items()}
    forgotten(monkeypatch)
    monkeypatch.setattr(building, "trace_function", None)
    assert {name: told(call(x)) for name, call in OPERATIONS_ON.items()} == first
    if x is ROWS:
        with pytest.raises(RuntimeCheckError, match="add: level 1, component 0: expected length"):
            _ = x + rg.from_offsets(x.values, [0, 2, 2, 6])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("content", [*FOREIGN, pickle.dumps((1, 2)), pickle.dumps((1, 2, b"{}"))])
def test_operations_of_something_else(place: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    forgotten(monkeypatch)
    expected = (ROWS * 3).tolist()
    entries = [file for file in place.iterdir() if not (cache.load(file.name) or b"").startswith(b"{")]
    assert len(entries) == 1
    cache.store(entries[0].name, content)
    forgotten(monkeypatch)
    assert (ROWS * 3).tolist() == expected
    assert cache.load(entries[0].name) != content


def test_what_an_operation_is_compiled_for() -> None:
    a, b = ROWS.spec, WINDOWS.spec
    known = [stored_key([s], p) for s in (a, b, None) for p in ({}, {"axis": 1}, {"axis": True}, {"axis": (1,)})]
    assert None not in known
    assert len({str(key) for key in known}) == len(known)
    assert stored_key([a], {"dtype": np.dtype("f4")}) != stored_key([a], {"dtype": np.dtype("f8")})
    assert stored_key([a], {"key": object()}) is None
    assert stored_key([replace(a, device="cuda:0")], {}) is None


SECOND = """
import sys
import numpy as np
import ragged_dialect as rg

x = rg.from_offsets(np.arange(12, dtype=np.float32).reshape(6, 2), [0, 1, 1, 6])
print(rg.softmax(x, axis=1).sum(1).tolist(), (x * 2 + x).values.sum(), x.to_padded(0.5).shape, x[1:].values.sum())
loaded = [m for m in sys.modules if "lowering" in m and m.count(".") > 1 or "execution_engine" in m]
from ragged_dialect.compiler import cpu, machine_code
if {cached}:
    print(sorted(m.partition("lowering.")[2] for m in loaded), file=sys.stderr)
    cpu.lower_for_cpu = machine_code.module_code = None
print(rg.jit(lambda a: np.exp(a.astype("f8")) * 2)(x).values.sum())
"""


def test_another_process_compiles_nothing(place: Path) -> None:
    found = [python("-c", SECOND.format(cached=cached), RAGGED_NUM_THREADS="2") for cached in (False, True)]
    assert found[0].stdout == found[1].stdout
    assert found[0].stdout.startswith("[[1.0, 1.0], [0.0, 0.0], ")
    texts = ("llvm_text", "memory_pool", "memory_runtime", "program_runtime", "thread_pool")
    runtime = ["runtime", *(f"runtime.{text}" for text in texts), "skew", "skew.runtime"]
    assert found[1].stderr == f"{runtime}\n"


EAGER = """
import sys
import numpy as np
import ragged_dialect as rg

x = rg.from_offsets(np.arange(12, dtype=np.float32).reshape(6, 2), [0, 1, 1, 6])
y = rg.from_offsets(np.arange(6), x.offsets)
made = [
    rg.softmax(x, axis=1), x * 2 + x, -x, x == 1, 2 - x, np.exp(x), np.maximum(x, 1),
    np.add.reduce(x, axis=1), np.sum(x), x.to_padded(), rg.from_padded(x.to_padded(), x.lengths),
    np.max(x, axis=1), np.any(x), x.sum(1), x.mean(1, keepdims=True), x.max(axis=(1, 2)), x.std(2),
    x.argmax(1), x.any(), x.cumsum(1), x.astype("f8"), x.clip(1, 5), x.round(), x.softmax(), x.merge(0),
    x[1:], x[0], x[:, :1], x[..., 1], y[y > 3], x[[True, False, True]], rg.sort(x, axis=1),
    rg.take(x, [2, 0]), rg.where(x > 2, x, 0), x.lengths, x.row_ids, x.tolist(), repr(x), list(x),
    x ** 2, x ** 0.5, x ** 2.5, x @ np.eye(2, dtype=np.float32), rg.compact(x[::2]), rg.concat([x, x], axis=1),
    rg.stack([x, x]), rg.attention(x, x, x, causal=True), np.mean(x, axis=1), np.where(x > 2, x, 0), np.clip(x, 0, 1),
    np.concatenate([x, x]), np.isin(y, [1, 3]), np.sort(x, axis=1), np.cumsum(y, axis=1), np.diff(x, axis=1),
    np.linalg.norm(x, axis=2), np.average(x, axis=1, weights=y.astype("f4")), np.median(y, axis=1),
    np.allclose(x, x), np.digitize(y, [1, 3]), np.flip(x, axis=1), np.roll(x, 1, axis=1), rg.bincount(y, 6),
]
print(*map(repr, made), sep="\\n")
print("ragged_dialect._mlir" in sys.modules, file=sys.stderr)
"""


def test_operations_of_the_cache_load_no_bindings(place: Path) -> None:
    """Nothing that makes programs: the bindings take as long to load as NumPy."""
    first, second = (python("-c", EAGER) for _ in range(2))
    assert first.stdout == second.stdout
    assert (first.stderr, second.stderr) == ("True\n", "False\n")


UNKNOWN = """
import numpy as np
import ragged_dialect as rg
from ragged_dialect.arrays.tracing.operation import OPERATIONS, UnknownOperation, named

assert rg.searchsorted(np.array([1, 2, 2, 3]), rg.ragged([[2]]), "right").tolist() == [[3]]
assert rg.matmul.__doc__.startswith("Product over")
assert rg.sort.__doc__.startswith("The elements") and rg.sort.__qualname__ == "sort", rg.sort.__doc__
assert named("softmax") is rg.softmax is OPERATIONS["softmax"]
try:
    named("no_such")(rg.ragged([[1.0]]))
except UnknownOperation as error:
    print(error)
try:
    OPERATIONS["no_such"]
except KeyError as error:
    print(error)
"""


def test_operations_are_known_by_name_before_they_are_loaded(place: Path) -> None:
    assert python("-c", UNKNOWN).stdout == "expected the name of an operation, got 'no_such'\n'no_such'\n"


def test_traced_code_that_is_first_in_a_process_has_all_there_is(place: Path) -> None:
    code = "print(rg.jit(lambda x: x.values[x.total - 1] + x.max_length)(rg.ragged([[1, 2], [5]])))"
    assert python("-c", f"import ragged_dialect as rg; {code}").stdout == "7\n"


def test_equal_specs_are_one_object_where_programs_come_from_the_cache(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs are found by them."""
    made = []
    for _ in range(2):
        forgotten(monkeypatch)
        made.append(ROWS * 2)
    assert {x.spec for x in (*made, ROWS, pickle.loads(pickle.dumps(ROWS)))} == {ROWS.spec}
    known = ROWS.spec
    assert spec(known.layout, known.shape, known.dtype) is spec(known.layout, known.shape, known.dtype, "cpu") is known
    assert pickle.loads(pickle.dumps(known)) is known
