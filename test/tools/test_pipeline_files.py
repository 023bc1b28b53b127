"""Pipelines as files, and parts of pipelines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import ROOT
from ragged_dialect.dialect import context
from ragged_dialect.errors import PassError
from ragged_dialect.lowering import pipelines
from ragged_dialect.passes.pipeline.stages import parse_pipeline
from ragged_dialect.tools.ragged_opt import main

PROGRAM = str(ROOT / "examples" / "attention_pooling.mlir")
PIPELINES = ["ragged-to-llvm-pipeline", "ragged-to-gpu-pipeline"]


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_a_written_pipeline_has_the_passes_of_the_one_it_was_written_of(pipeline: str, tmp_path: Path) -> None:
    program, file = tmp_path / "empty.mlir", tmp_path / "p.json"
    program.write_text("module {}")
    assert main([str(program), f"--{pipeline}", f"--dump-pipeline-file={file}", "-o", str(tmp_path / "out")]) == 0
    assert parse_pipeline(f"ragged-file-pipeline{{file={file}}}", context()) == parse_pipeline(pipeline, context())
    assert [stage["name"] for stage in json.loads(file.read_text())["stages"]][:2] == ["layouts", "checks"]


def test_a_pipeline_is_edited_and_resumed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "p.json"
    part = "to=ragged"
    assert main([PROGRAM, f"--ragged-to-llvm-pipeline={part}", f"--dump-pipeline-file={file}"]) == 0
    whole = capsys.readouterr().out
    assert main([PROGRAM, f"--ragged-file-pipeline=file={file} to=checks", "-o", str(tmp_path / "half.mlir")]) == 0
    assert main([str(tmp_path / "half.mlir"), f"--ragged-file-pipeline=file={file} from=ragged"]) == 0
    assert capsys.readouterr().out == whole
    file.write_text(file.read_text().replace('"ragged-insert-checks"', '"cse"'))
    assert main([PROGRAM, f"--ragged-file-pipeline=file={file}"]) == 0
    assert "assert_valid" not in capsys.readouterr().out


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_parts_of_a_pipeline_are_the_pipeline(pipeline: str) -> None:
    whole = parse_pipeline(pipeline, context())
    for name in dict.fromkeys(stage.part for stage in whole):
        text = f"{pipeline}{{to={name}}},{pipeline}{{from={name}}}"
        again = [stage for stage in whole if stage.part == name]
        place = max(number for number, stage in enumerate(whole) if stage.part == name) + 1
        assert parse_pipeline(text, context()) == (*whole[:place], *again, *whole[place:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("from=zz", "expected a stage of 'ragged-to-llvm-pipeline' (layouts, checks, ragged, "),
        ("to=zz", "llvm), got 'zz'"),
        ("from=dense to=scf", "expected 'from' before 'to', got 'dense' after 'scf'"),
        ("from", "expected a value for 'from'"),
    ],
)
def test_parts_that_are_none(options: str, message: str) -> None:
    with pytest.raises(PassError) as error:
        parse_pipeline(f"ragged-to-llvm-pipeline{{{options}}}", context())
    assert message in str(error.value)


BAD = [
    ("{\n", "p.json:2:1: error: expected JSON, got "),
    ("[]", "p.json:1: error: expected an object for the file, got []"),
    ("{}", "p.json:1: error: expected 'stages' in the file"),
    ('{"stages": 3}', "p.json:1: error: expected a list of stages, got 3"),
    ('{"stages": [\n {"name": "a"}]}', "p.json:2: error: expected 'passes' in a stage"),
    ('{"stages": [\n {"name": 3, "passes": []}]}', "p.json:2: error: expected a name, got 3"),
    ('{"stages": [],\n"more": 1}', "p.json:2: error: expected 'stages' once each in the file, got 'more'"),
    ('{"stages": [\n{"name": "a",\n"name": "b"}]}', "p.json:2: error: expected 'name' and 'passes' once each"),
    ('{"stages": [{"name": "a", "passes": {}}]}', "p.json:1: error: expected a list of passes, got an object"),
    ('{"stages": [{"name": "a", "passes": [\n"cse",\n"cse,zz"]}]}', "p.json:3: error: expected a known pass, got 'zz'"),
    ('{"stages": [{"name": "a", "passes": [\n"cse",\n"cse{"]}]}', "p.json:3: error: expected '}' to close the options"),
    ('{"stages": [{"name": "a", "passes": [\n"ragged-fuse{max-ops=x}"]}]}', "p.json:2: error: expected an integer for"),
    (
        '{"stages": [{"name": "a", "passes": [\n"ragged-file-pipeline{file=p.json}"]}]}',
        "p.json:2: error: expected passes, got a pipeline of a file in a file: 'ragged-file-pipeline{file=p.json}'",
    ),
    ("[" * 100_000, "p.json: error: expected a pipeline file, got JSON that is nested too deep"),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_files_are_named_with_the_line(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = tmp_path / "p.json", tmp_path / "out"
    file.write_text(text)
    assert main([PROGRAM, f"--ragged-file-pipeline=file={file}", "-o", str(out)]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert len(captured.err.splitlines()) == 1
    assert not out.exists()


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([PROGRAM, "--ragged-file-pipeline=file=missing.json"]) == 1
    assert "missing.json: error: expected a pipeline file, got no such file or directory" in capsys.readouterr().err
    assert main([PROGRAM, "--ragged-file-pipeline=file=/dev/zero"]) == 1
    assert "ragged-opt: expected MLIR text or bytecode, got a zero byte" in capsys.readouterr().err
    assert main([PROGRAM, "--ragged-file-pipeline"]) == 1
    assert "expected 'file' for 'ragged-file-pipeline'" in capsys.readouterr().err
    assert pipelines.cpu_pipeline()[0].place == ""


def test_a_written_pipeline_keeps_what_passes_run_on(tmp_path: Path) -> None:
    program, file = tmp_path / "empty.mlir", tmp_path / "p.json"
    program.write_text("module {}")
    text = "builtin.module(any(canonicalize),builtin.module(cse),func.func(cse))"
    flags = [f"--pass-pipeline={text}", f"--dump-pipeline-file={file}", "-o", str(tmp_path / "out")]
    assert main([str(program), *flags]) == 0
    again = parse_pipeline(f"ragged-file-pipeline{{file={file}}}", context())
    assert [str(stage) for stage in again] == [str(stage) for stage in parse_pipeline(text, context())]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'{{\n"stages": {"9" * 5000}}}', f":2: error: expected a list of stages, got {'9' * 40}"),
        (
            '{"stages": [\n{"name": "\\ud800", "passes": ["cse"]}]}',
            ':2: error: expected a name in UTF-8, got "\\ud800"',
        ),
    ],
)
def test_values_that_python_does_not_take(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    file.write_text(text)
    with pytest.raises(PassError) as caught:
        parse_pipeline(f"ragged-file-pipeline{{file={file}}}", context())
    assert str(caught.value) == f"{file}{message}"
