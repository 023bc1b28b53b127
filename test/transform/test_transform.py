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
from ragged_dialect.errors import PassError, VerifyError
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


@pytest.mark.sampled(3)
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


FLAT = """#j = #ragged.layout<"dr|d">
func.func @f(%v: tensor<?x64xf32>, %o: tensor<?xi64>, %w: tensor<?x64xf32>) -> tensor<?x64xf32> {
  %x = ragged.partition %v, %o {dim = 0} : (tensor<?x64xf32>, tensor<?xi64>) -> tensor<?x?x64xf32, #j>
  %y = arith.mulf %x, %x MAPPING : tensor<?x?x64xf32, #j>
  %z = math.exp %y : tensor<?x?x64xf32, #j>
  %m = ragged.merge %z {dim = 0} : (tensor<?x?x64xf32, #j>) -> tensor<?x64xf32>
  return %m : tensor<?x64xf32>
}
"""


def apart(mapping: str) -> str:
    """The scheduled program with settings for its sums, and others for its rows."""
    rows = 'iterator_types = ["parallel", "parallel", "parallel"]'
    text = SCHEDULED.replace("dimensions = [1]", f"dimensions = [1] {{ragged.mapping = {{{mapping}}}}}")
    return text.replace(rows, f'{rows}, ragged.mapping = {{schedule = "segment"}}')


def gpu_code(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The host code of a program for GPUs, without checks."""
    (tmp_path / "f.mlir").write_text(text)
    main([str(tmp_path / "f.mlir"), "--pass-pipeline=ragged-to-gpu-pipeline{check=0 to=map}"])
    return capsys.readouterr().out


def test_settings_of_flat_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Work that is flat over the values is mapped as its op says; what follows it without settings joins it."""
    text = FLAT.replace("MAPPING", "{ragged.mapping = {threads = 64, unroll = 2, tile = 512}}")
    out = gpu_code(text, tmp_path, capsys)
    mapping = '{ragged.mapping = {schedule = "general", threads = 64 : i64, unroll = 2 : i64}}'
    assert out.count("scf.forall") == out.count(mapping) == 1
    assert "512" in out
    assert "4096" not in out
    plain = gpu_code(FLAT.replace("MAPPING", ""), tmp_path, capsys)
    assert "4096" in plain


@pytest.mark.parametrize("mapping", ["threads = 1", "tile = 128", "tile = 1048576", "threads = 32, tile = 64"])
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_mapped_programs_have_the_same_results(mapping: str, target: str) -> None:
    rng = np.random.default_rng(0)
    values, centres = rng.standard_normal((3000, 64), np.float32), rng.standard_normal((4, 64), np.float32)
    arguments = values, np.array([0, 3, 3, 1500, 3000]), centres
    sums = apart(mapping if mapping == "threads = 1" else f'schedule = "balanced", {mapping}')
    if target == "cpu" or "1048576" not in mapping:  # a thread adds so many rows in a step at most
        found, wanted = (rg.compile(text, target=target)(*arguments) for text in (sums, SCHEDULED))
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    flat = FLAT.replace("MAPPING", f"{{ragged.mapping = {{{mapping}}}}}")
    np.testing.assert_allclose(rg.compile(flat, target=target)(*arguments), np.exp(values * values), rtol=1e-4)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ('schedule = "balanced"', "expected a schedule that fits the loop nest, got 'balanced'"),
        ("tile = 33", "expected tile of ragged.mapping among 32, 64, "),
        ("tile = 64.0", "expected tile of ragged.mapping among 32, 64, .* got 6.4"),
        ("threads = true", "expected threads of ragged.mapping among 1, 32, .* got true"),
        ('schedule = "zz"', "expected schedule of ragged.mapping among general, balanced, segment, contract, got"),
    ],
)
def test_settings_that_do_not_fit_flat_work(mapping: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        rg.compile(FLAT.replace("MAPPING", f"{{ragged.mapping = {{{mapping}}}}}"), target="emulator")


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ("general", "expected no tile where a block has an iteration of the loop nest, got 1048576"),
        ("balanced", "expected a tile of at most [0-9]+ elements, got 1048576"),
    ],
)
def test_tiles_that_do_not_fit(schedule: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        rg.compile(apart(f'schedule = "{schedule}", tile = 1048576'), target="emulator")


def test_scans_are_mapped() -> None:
    """The loops that a scan becomes have its settings."""
    rows = 'tensor<?x?x4xf32, #ragged.layout<"dr|d">>'
    mark = "ragged.mapping = {threads = 64}"
    text = f"""func.func @f(%x: {rows}) -> {rows} {{
      %0 = ragged.scan %x {{dim = 1, kind = "sum", {mark}}} : ({rows}) -> {rows}
      return %0 : {rows}
    }}"""
    for passes in ("convert-ragged-to-scf", "ragged-decompose-scans"):
        module = load_module(text, context())
        Stage("s", passes).run(module)
        assert "ragged.mapping = {threads = 64 : i64}" in print_module(module)


ROWS = 'tensor<?x?x4xf32, #ragged.layout<"dr|d">>'


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_a_softmax_is_mapped(target: str) -> None:
    """The loops that it becomes have its settings, and those of what follows theirs."""
    text = f"""func.func @f(%x: {ROWS}, %o: {ROWS}) -> {ROWS} {{
      %y = linalg.softmax {{ragged.mapping = {{threads = 64}}}} dimension(1)
           ins(%x : {ROWS}) outs(%o : {ROWS}) -> {ROWS}
      %z = arith.mulf %y, %x {{ragged.mapping = {{threads = 128}}}} : {ROWS}
      return %z : {ROWS}
    }}"""
    module = load_module(text, context())
    Stage("s", "convert-ragged-to-scf").run(module)
    found = print_module(module)
    assert "ragged.mapping = {threads = 64 : i64}" in found
    assert "ragged.mapping = {threads = 128 : i64}" in found
    values = np.random.default_rng(0).random((7, 4), np.float32)
    x = values, np.array([0, 3, 3, 7])
    got, *_ = rg.compile(text, target=target)(x, x)
    parts = [np.exp(part) / np.exp(part).sum(0) * part for part in (values[:3], values[3:])]
    np.testing.assert_allclose(got, np.concatenate(parts), 1e-5)


def test_settings_of_what_is_generalized() -> None:
    """An elementwise op of static tiles becomes a nest, which has them."""
    tiles = 'tensor<2x4x8xf32, #ragged.layout<"dt|d">>'
    text = f"""func.func @f(%x: {tiles}) -> {tiles} {{
      %y = math.exp %x {{ragged.mapping = {{threads = 64}}}} : {tiles}
      return %y : {tiles}
    }}"""
    module = load_module(text, context())
    Stage("s", "ragged-canonicalize").run(module)
    assert "attrs =  {ragged.mapping = {threads = 64 : i64}}" in print_module(module)


@pytest.mark.parametrize("name", ["empty", "annotate"])
def test_settings_of_what_has_no_loops_are_refused(name: str) -> None:
    mapping = "ragged.mapping = {threads = 64}"
    text = f"func.func @f(%x: {ROWS}) {{\n %y = ragged.{name} %x {{{mapping}}} : ({ROWS}) -> {ROWS}\n return }}"
    with pytest.raises(VerifyError, match=r"expected ragged.mapping on what has loops, got it on an op that has none"):
        rg.compile(text)
    with pytest.raises(VerifyError, match=r"'func.func' op expected ragged.mapping on what has loops"):
        rg.compile(f"func.func @f(%x: {ROWS}) attributes {{{mapping}}} {{ return }}")


def test_too_few_threads_are_refused() -> None:
    """Lanes of a warp look for components together: one thread would read what is not there."""
    with pytest.raises(PassError, match="expected at least 32 threads for 'balanced', got 1"):
        rg.compile(apart('schedule = "balanced", threads = 1'), target="emulator")


def test_one_thread_keeps_a_nest_on_the_thread_that_calls(capsys: pytest.CaptureFixture[str]) -> None:
    folder = ROOT / "examples" / "schedules"
    for flags, parallel in ((["serial"], 0), ([], 1)):
        scripts = "".join(f"ragged-transform-interpreter{{library={folder / flag}.mlir}}," for flag in flags)
        tail = "ragged-to-llvm-pipeline{from=scf to=bufferize},convert-ragged-forall-to-loops"
        pipeline = f"ragged-to-llvm-pipeline{{check=0 to=ragged}},{scripts}{tail}"
        assert main([str(folder / "program.mlir"), f"--pass-pipeline={pipeline}"]) == 0
        assert capsys.readouterr().out.count("ragged.parallel") == parallel
