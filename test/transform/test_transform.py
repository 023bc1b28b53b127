"""Scripts of the transform dialect on ragged programs, in child processes where a mistake would end the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ragged_dialect as rg
from conftest import ROOT
from ragged_dialect.asm.module import load_module, print_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering.stage import Stage
from ragged_dialect.tools.ragged_opt import main

PROGRAM = """#j = #ragged.layout<"dr">
module attributes {transform.with_named_sequence} {
func.func @f(%v: tensor<?xf32>, %o: tensor<?xi64>) -> tensor<?xf32> {
  %x = ragged.partition %v, %o {dim = 0} : (tensor<?xf32>, tensor<?xi64>) -> tensor<?x?xf32, #j>
  %m = ragged.merge %x {dim = 0} : (tensor<?x?xf32, #j>) -> tensor<?xf32>
  return %m : tensor<?xf32>
}
transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
%f = transform.structured.match ops{["func.func"]} in %root : (!transform.any_op) -> !transform.any_op
BODY
transform.yield
}
}
"""
H = "!transform.any_op"
UP = "--transform-interpreter"
OWN = "--ragged-transform-interpreter"


def op(name: str, handle: str, attributes: str = "") -> str:
    """An op of ours on a handle."""
    return f"ragged_transform.{name} {handle} {{{attributes}}} : ({H}) -> {H}"


APPLY = op("apply", "%f", 'pipeline = "ragged-canonicalize,cse"')
SEEN = 'transform.annotate {} "seen" : !transform.any_op'


def find(name: str, handle: str) -> str:
    """MLIR's own match of an op."""
    return f'transform.structured.match ops{{["{name}"]}} in {handle} : ({H}) -> {H}'


def run(body: str, tmp_path: Path, *flags: str, program: str = PROGRAM) -> tuple[str, str]:
    """Standard output and error of ragged-opt in a child, which must not die of a signal."""
    file = tmp_path / "in.mlir"
    file.write_text(program.replace("BODY", body))
    command = [sys.executable, "-m", "ragged_dialect.tools.ragged_opt", str(file), *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)
    assert done.returncode in (0, 1), (done.returncode, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


@pytest.mark.parametrize("flag", [UP, OWN])
def test_passes_run_on_a_handle_and_give_a_new_one(flag: str, tmp_path: Path) -> None:
    out, error = run(f"%g = {APPLY}\n{SEEN.format('%g')}", tmp_path, flag)
    assert not error
    assert "ragged." not in out.replace("ragged.layout", "").replace('"ragged', "")
    assert "seen" in out


STALE = "error: op uses a handle invalidated by a previously executed transform op"
REFUSED = {
    "stale": (f"%g = {APPLY}\n{SEEN.format('%f')}", f"in.mlir:11:1: {STALE}"),
    "nested stale": (
        f"%p = {find('ragged.partition', '%f')}\n%g = {APPLY}\n{SEEN.format('%p')}",
        f"in.mlir:12:1: {STALE}",
    ),
    "alias": (f"%p = {find('func.func', '%root')}\n%g = {APPLY}\n{SEEN.format('%p')}", f"in.mlir:12:1: {STALE}"),
    "repeated": (
        f"%p = transform.merge_handles %f, %f : {H}\n%g = {APPLY.replace('%f', '%p')}",
        "in.mlir:11:6: error: a handle passed as operand #0 and consumed by this operation points to a payload entity",
    ),
    "not a root": (
        f"%p = {find('ragged.merge', '%f')}\n%g = {APPLY.replace('%f', '%p')}",
        "op expected targets among builtin.module, func.func, got 'ragged.merge'",
    ),
    "unknown pass": (
        "%g = " + op("apply", "%f", 'pipeline = "ragged-cannonicalize"'),
        "error: expected a known pass, got 'ragged-cannonicalize' (did you mean 'ragged-canonicalize'",
    ),
    "anchor": (
        "%g = " + op("apply", "%f", 'pipeline = "convert-ragged-to-scf"'),
        "expected 'convert-ragged-to-scf' under 'builtin.module', got it under 'func.func'",
    ),
    "pipeline on a function": (
        "%g = " + op("apply", "%f", 'pipeline = "ragged-to-llvm-pipeline"'),
        "expected 'ragged-to-llvm-pipeline' under 'builtin.module', got it under 'func.func'",
    ),
    "failing pass": (
        "%g = " + op("apply", "%f", 'pipeline = "ragged-fuse{max-ops=0}"'),
        "in.mlir:10:6: error: 'ragged_transform.apply' op expected 'ragged-fuse{max-ops=0}' to run on its target",
    ),
    "unknown attribute": (
        "%g = " + op("match", "%f", 'lay = "dr"'),
        "op expected attributes among [name, layout, dim], strings or integers",
    ),
    "layout": (
        "%g = " + op("match", "%f", 'layout = "zz"'),
        "in.mlir:10:6: error: 'ragged_transform.match' op expected",
    ),
    "schedule": (
        "%g = " + op("set", "%f", 'schedule = "best"'),
        "'ragged_transform.set' op expected 'schedule' among general, balanced, segment, contract, got 'best'",
    ),
    "no text": (
        "%g = " + op("match", "%f", r'name = "\FF"'),
        "'ragged_transform.match' op expected text in UTF-8, got ",
    ),
    "no handle": (f'%g = "ragged_transform.match"() : () -> {H}', "error: op expects exactly 1 operands, but got 0"),
    "what has no loops": (
        f"%p = {find('ragged.merge', '%f')}\n%g = " + op("set", "%p", "threads = 64"),
        "expected loop nests, scf.forall or what computes on ragged tensors, got 'ragged.merge'",
    ),
    "nest": (
        "%g = " + op("set", "%f", "threads = 64"),
        "expected loop nests, scf.forall or what computes on ragged tensors, got 'func.func'",
    ),
}


@pytest.mark.sampled(36)
@pytest.mark.parametrize("flag", [UP, OWN])
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str, flag: str, tmp_path: Path) -> None:
    body, message = REFUSED[name]
    out, error = run(body, tmp_path, flag)
    assert not out
    assert message in error


SCOPE = "expected a scope inside of what the script runs on, got that itself"
SCOPES = {
    "%root": f"in.mlir:10:1: error: 'transform.alternatives' op {SCOPE}",
    "%p": f"in.mlir:11:1: error: 'transform.alternatives' op {SCOPE}",
    "%f": "",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("scope", SCOPES)
def test_alternatives_do_not_replace_the_root(scope: str, tmp_path: Path) -> None:
    """It is in no block, and MLIR ends the process."""
    parent = f"%p = transform.get_parent_op %f : ({H}) -> {H}\n" if scope == "%p" else ""
    body = f"{parent}transform.alternatives {scope} : {H} {{\n^bb0(%a: {H}):\ntransform.yield\n}}"
    out, error = run(body, tmp_path, OWN, program=PROGRAM.replace("readonly", "consumed"))
    assert SCOPES[scope] in error
    assert bool(out) == (not SCOPES[scope])


def test_a_library_is_refused_at_its_own_lines(tmp_path: Path) -> None:
    library = tmp_path / "s.mlir"
    library.write_text(
        "module attributes {transform.with_named_sequence} {\n"
        f"transform.named_sequence @__transform_main(%m: {H} {{transform.consumed}}) {{\n"
        f"%0 = no.such %m : ({H}) -> {H}\ntransform.yield\n}}\n}}"
    )
    _, error = run("", tmp_path, f"{OWN}=library={library}")
    assert error.startswith(f"{library}:3:")
    assert error.count(f"{library}:") == 1
    assert f"in.mlir:2:1: error: expected a library that is valid, got '{library}'" in error


def test_nested_targets_are_refused(tmp_path: Path) -> None:
    inner = f"%i = {find('builtin.module', '%root')}\n%b = transform.merge_handles %i, %f : {H}\n"
    body = f"{inner}%g = {APPLY.replace('%f', '%b')}"
    nested = PROGRAM.replace("func.func", "module @inner {\nfunc.func", 1).replace(
        "transform.named", "}\ntransform.named", 1
    )
    file = tmp_path / "in.mlir"
    file.write_text(nested.replace("BODY", body))
    command = [sys.executable, "-m", "ragged_dialect.tools.ragged_opt", str(file), OWN]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)
    assert done.returncode == 1, done.stderr
    assert "expected targets that are apart, got one inside of another" in done.stderr


@pytest.mark.parametrize("pipeline", ["builtin.module(cse)", "builtin.module(func.func(cse))"])
def test_pipelines_for_what_a_target_is_in_are_refused(pipeline: str, tmp_path: Path) -> None:
    """They would run on nothing."""
    _, error = run("%g = " + op("apply", "%f", f'pipeline = "{pipeline}"'), tmp_path, OWN)
    assert "expected passes under 'func.func', got them under 'builtin.module'" in error


def test_a_script_does_not_change_itself(tmp_path: Path) -> None:
    whole = op("apply", "%root", 'pipeline = "canonicalize"')
    consumed = f"%g = {whole}"
    program = PROGRAM.replace("readonly", "consumed").replace("BODY", consumed)
    file = tmp_path / "in.mlir"
    file.write_text(program)
    assert main([str(file), OWN, "-o", str(tmp_path / "out")]) == 0
    command = [sys.executable, "-m", "ragged_dialect.tools.ragged_opt", str(file), UP]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=ROOT)
    assert done.returncode == 1
    assert "expected a target without a script in it, got one" in done.stderr


def test_empty_handles_do_nothing(tmp_path: Path) -> None:
    body = "%p = " + op("match", "%f", 'name = "ragged.split"') + "\n%q = " + op("set", "%p", "threads = 64") + "\n"
    body += f"%g = {APPLY.replace('%f', '%q')}\n{SEEN.format('%g')}"
    out, error = run(body, tmp_path, OWN)
    assert not error
    assert "ragged.partition" in out
    assert "seen" not in out


@pytest.mark.parametrize("flag", [UP, OWN])
def test_settings_are_written(flag: str, tmp_path: Path) -> None:
    """By MLIR's interpreter too, which has no context for Python."""
    program = PROGRAM.replace("  %m = ", "  %y = math.exp %x : tensor<?x?xf32, #j>\n  %m = ")
    file = tmp_path / "in.mlir"
    matched, settings = op("match", "%f", 'name = "math.exp"'), op("set", "%p", 'schedule = "segment", threads = 64')
    file.write_text(program.replace("BODY", f"%p = {matched}\n%q = {settings}"))
    assert main([str(file), flag, "-o", str(tmp_path / "out")]) == 0
    assert 'ragged.mapping = {schedule = "segment", threads = 64 : i64}' in (tmp_path / "out").read_text()


@pytest.mark.parametrize(
    ("attributes", "found"),
    [
        ('layout = "dr"', 2),
        ('layout = "dr|d"', 0),
        ("dim = 0", 2),
        ("dim = 1", 0),
        ('name = "ragged.merge"', 1),
        ('name = "ragged.merge", layout = "dr", dim = 0', 1),
    ],
)
def test_ops_are_matched(attributes: str, found: int, tmp_path: Path) -> None:
    file = tmp_path / "in.mlir"
    body = f"%p = {op('match', '%f', attributes)}\n{SEEN.format('%p')}"
    file.write_text(PROGRAM.replace("BODY", body))
    assert main([str(file), OWN, "-o", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out").read_text().count("seen") == found


EXAMPLE = str(ROOT / "examples" / "attention_pooling.mlir")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["llvm", "gpu"])
def test_shipped_sequences_are_the_pipelines(target: str, tmp_path: Path) -> None:
    script = f"{OWN}=library=pipelines entry-point=ragged_to_{target}"
    for name, flag in (("a", f"--ragged-to-{target}-pipeline"), ("b", script)):
        assert main([EXAMPLE, flag, "--mlir-print-debuginfo", "-o", str(tmp_path / name)]) == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_libraries(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    start = "module attributes {transform.with_named_sequence} {\n"
    library, program = tmp_path / "lib.mlir", tmp_path / "p.mlir"
    program.write_text(
        PROGRAM.split("transform.named")[0].replace(" attributes {transform.with_named_sequence}", "") + "}"
    )
    sequence = (
        f"transform.named_sequence @main(%f: {H} {{transform.consumed}}) {{\n%g = {APPLY}\ntransform.yield\n}}\n}}"
    )
    library.write_text(start + sequence)
    assert main([str(program), f"{OWN}=library={library} entry-point=main"]) == 0
    assert "ragged.merge" not in capsys.readouterr().out
    generic = sequence.replace("ragged_transform.apply %f", '"ragged_transform.apply"(%f)').replace(
        "@main", "@__transform_main"
    )
    library.write_text(start + generic)
    preload = f"--transform-preload-library=transform-library-paths={library}"
    assert main([str(program), preload, UP]) == 0
    assert "ragged.merge" not in capsys.readouterr().out
    for text, options, message in (
        (start + sequence, "entry-point=zz", "expected a sequence 'zz', got none"),
        ("zz", "entry-point=main", "lib.mlir:1:1: error: custom op 'zz' is unknown"),
    ):
        library.write_text(text)
        assert main([str(program), f"{OWN}=library={library} {options}"]) == 1
        assert message in capsys.readouterr().err
    assert main([str(program), f"{OWN}=library={tmp_path / 'none.mlir'}"]) == 1
    assert "none.mlir': no such file or directory" in capsys.readouterr().err
    assert main([str(program), f"{OWN}=library=/dev/zero"]) == 1
    assert "expected a library that is valid, got expected MLIR text or bytecode, got a zero" in capsys.readouterr().err


def test_a_script_that_runs_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "f.mlir").write_text("func.func @f() { return }")
    library = tmp_path / "s.mlir"
    pipeline = f"ragged-transform-interpreter{{library={library}}}"
    library.write_text(
        "module attributes {transform.with_named_sequence} {\n"
        "transform.named_sequence @__transform_main(%m: !transform.any_op {transform.consumed}) {\n"
        f'  %0 = ragged_transform.apply %m {{pipeline = "{pipeline}"}} : (!transform.any_op) -> !transform.any_op\n'
        "  transform.yield\n}\n}\n"
    )
    assert main([str(tmp_path / "f.mlir"), f"{OWN}=library={library}"]) == 1
    assert f"expected a script that does not run itself, got '{library}'" in capsys.readouterr().err


SCHEDULED = (ROOT / "examples" / "schedules" / "program.mlir").read_text()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("script", ["blocks", "mixed", "serial"])
def test_scheduled_programs_have_the_results_of_the_pipeline(script: str) -> None:
    module = load_module(SCHEDULED, context())
    library = ROOT / "examples" / "schedules" / f"{script}.mlir"
    Stage("s", f"ragged-to-gpu-pipeline{{to=ragged}},ragged-transform-interpreter{{library={library}}}").run(module)
    text = print_module(module)
    rng = np.random.default_rng(0)
    arguments = (rng.standard_normal((200, 64), dtype=np.float32), np.array([0, 3, 3, 150, 200]))
    arguments = (*arguments, rng.standard_normal((4, 64), dtype=np.float32))
    for target in ("cpu", "emulator"):
        wanted = rg.compile(SCHEDULED, target=target)(*arguments)
        for got, want in zip(rg.compile(text, target=target)(*arguments), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_nests_of_one_function_are_scheduled_apart(capsys: pytest.CaptureFixture[str]) -> None:
    folder = ROOT / "examples" / "schedules"
    script = f"ragged-transform-interpreter{{library={folder / 'mixed.mlir'}}}"
    pipeline = f"ragged-to-gpu-pipeline{{to=ragged}},{script},ragged-to-gpu-pipeline{{from=scf to=map}}"
    assert main([str(folder / "program.mlir"), f"--pass-pipeline={pipeline}"]) == 0
    out = capsys.readouterr().out
    assert '{ragged.mapping = {schedule = "balanced"}}' in out
    assert '{ragged.mapping = {schedule = "general", threads = 64 : i64, unroll = 1 : i64}}' in out
    assert "ragged.gate" not in out


def test_a_schedule_that_does_not_fit_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = tmp_path / "all.mlir"
    text = (ROOT / "examples" / "schedules" / "blocks.mlir").read_text()
    library.write_text(text.replace('schedule = "general"', 'schedule = "balanced"'))
    script = f"ragged-transform-interpreter{{library={library}}}"
    pipeline = f"ragged-to-gpu-pipeline{{to=ragged}},{script},ragged-to-gpu-pipeline{{from=scf}}"
    program = str(ROOT / "examples" / "schedules" / "program.mlir")
    assert main([program, f"--pass-pipeline={pipeline}"]) == 1
    assert "expected a schedule that fits the loop nest, got 'balanced'" in capsys.readouterr().err


def test_the_example_of_the_docs_runs_on_that_of_readme(tmp_path: Path) -> None:
    """`dim` is a dim: an op with `level = 1` is none about dim 1."""
    pages = [(ROOT / name).read_text() for name in ("docs/transform.md", "README.md")]
    for name, page in zip(("s.mlir", "f.mlir"), pages, strict=True):
        (tmp_path / name).write_text(page.split("```mlir\n")[1].split("```")[0])
    flag = next(line for line in pages[0].splitlines() if line.startswith("ragged-opt f.mlir")).split('"')[1]
    pipeline = flag.replace("s.mlir", str(tmp_path / "s.mlir"))
    assert main([str(tmp_path / "f.mlir"), f"--pass-pipeline={pipeline}", "-o", str(tmp_path / "out")]) == 0
    assert "gpu.launch_func" in (tmp_path / "out").read_text()
