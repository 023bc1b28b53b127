"""`ragged-lsp`: a session of an editor over stdio."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conftest import ROOT
from ragged_dialect.asm.scan import STRING
from ragged_dialect.tools import ragged_lsp

pytest.importorskip("pygls", reason="needs the extra lsp")

from support.language_client import URI, Editor

from ragged_dialect.tools.lsp import analysis
from ragged_dialect.tools.lsp.index import definition, token_at
from ragged_dialect.tools.lsp.words import hover

if TYPE_CHECKING:
    from lsprotocol import types as lsp

PROGRAM = """// a comment with é and 😀 %y
#words = #ragged.layout<"dr|d">
func.func private @g(tensor<?x?x4xf32, #words>)
func.func @f(%x: tensor<?x?x4xf32, #words>, %init: tensor<?x4xf32>) -> tensor<?x4xf32> {
  func.call @g(%x) : (tensor<?x?x4xf32, #words>) -> ()
  %y = linalg.reduce { arith.addf } ins(%x : tensor<?x?x4xf32, #words>) outs(%init : tensor<?x4xf32>) dimensions = [1]
  return %y : tensor<?x4xf32>
}
"""
CLOSED = 'func.func @f(%x: tensor<?x?xf32, #ragged.layout<"dr">>) {\n  return\n}\n'


@pytest.fixture(name="editor", scope="module")
def _editor() -> Iterator[Editor]:
    with Editor() as editor:
        yield editor


def _text(editor: Editor, place: lsp.Range) -> str:
    lines = editor.text.split("\n")
    assert place.start.line == place.end.line
    row = lines[place.start.line].encode("utf-16-le", "surrogatepass")
    return row[2 * place.start.character : 2 * place.end.character].decode("utf-16-le")


DIAGNOSED = [
    ("%z = arith.addi %nothing, %nothing : i32", "use of undeclared SSA value name", "%nothing"),
    ('%z = ragged.merge %x {dim = 7} : (tensor<?x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>',
     "'ragged.merge' op expected dim in [0, 1), got 7", "ragged.merge"),
    ('"😀é.y"(%x) : (tensor<?x?xf32, #ragged.layout<"dr">>) -> ()', "", None),
    ("%z = ragged.merge %x, : ", "'ragged.merge' op expected an operand after ','", ":"),
    ("%z = ragged.merge", "'ragged.merge' op expected", None),
    ('%z = tensor.empty() : tensor<4xf32, #ragged.layout<"zz">>', "expected letters d, r, w, t", None),
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("line", "message", "marked"), DIAGNOSED)
def test_diagnostics_have_ranges(editor: Editor, line: str, message: str, marked: str | None) -> None:
    first, *_ = editor.open(CLOSED.replace("  return", f"  {line}\n  return"))
    assert message in first.message
    assert marked is None or _text(editor, first.range) == marked


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", ["a%20b", "b%C3%A9", "c%2B", "c%3A/x", "é", "a b"])
def test_names_of_documents_may_be_escaped(name: str) -> None:
    with Editor(f"file:///{name}.mlir") as editor:
        assert editor.open(CLOSED[:-3]) != []
        assert editor.type(CLOSED[:-2], CLOSED) == []


def test_what_is_mended_has_none(editor: Editor) -> None:
    assert editor.open(CLOSED[:-3]) != []
    assert editor.type(CLOSED[:-2], CLOSED) == []
    two = f"// -----\n{CLOSED}// -----\n{CLOSED.replace('return', 'retrun')}"
    assert [one.range.start.line for one in editor.type(two)] == [6]


HOVERS = [
    ("linalg.reduce", 0, []),
    ("#words>,", 0, ["dim 1: ragged, in dim 0, components one after the other", "- values: `tensor<?x4xf32>`"]),
    ('"dr|d"', 2, ['Layout `"dr|d"`, 3 dims stored as 2']),
    ("%x :", 0, ["%x : tensor<?x?x4xf32", "- offsets: `tensor<?xi64>`, where the components of dim 1 start"]),
    ("%y :", 0, ["%y : tensor<?x4xf32>"]),
    ("@g(%x)", 0, ["func.func private @g"]),
    ("tensor<?x4xf32>", 3, []),
]


def test_hover(editor: Editor) -> None:
    assert editor.open(PROGRAM) == []
    for sought, shift, expected in HOVERS:
        shown = editor.hover(PROGRAM.index(sought) + shift)
        assert bool(shown) == bool(expected), (sought, shown)
        assert all(part in shown for part in expected), (sought, shown)
    editor.open("ragged.offsets ragged_transform.match ragged.nothing")
    assert "Operands: `x`: tensor" in editor.hover(8)
    assert "Finds ops on ragged tensors" in editor.hover(20)
    assert editor.hover(40) == ""


def test_definitions(editor: Editor) -> None:
    editor.open(PROGRAM)
    places = [("%y :", 5, 2), ("%x : tensor", 3, 13), ("@g(%x)", 2, 18), ("#words>)\nfunc.func @f", 1, 0)]
    for sought, line, column in places:
        found = editor.definition(PROGRAM.index(sought))
        assert found is not None
        assert (found.start.line, found.start.character) == (line, column), sought
    assert editor.definition(PROGRAM.index("return")) is None


SCOPES = """
^ func.func @f(%a: i32, %b: i32) { %c, %d:2 = foo.x(%a, %b) : %d#1
  scf.for %i = %a to %b iter_args(%s = %c, %t = %d) { use.it %i, %s, %t }
  scf.for %i = %b to %a { %e = use.it %i %e }
  scf.forall (%p, %q) in (%a, %b) shared_outs(%o = %c) { use.it %p, %q, %o }
  linalg.map ins(%a : i32) outs(%b : i32) (%u: i32) { use.it %u }
^bb1(%k: i32): use.it %k, %a, %later
  %later = use.it %e
}
func.func @g(%a: i32) { %e = call @f(%a) { sym = @"odd name" } %e = x }
"foo.module"() {sym_name = "odd name"}
// -----
func.func @f() { use.it %a @g }
"""
DEFINED_AT = {
    "%a": [1, 1, 1, 1, 1, 1, 1, 9, 9, None], "%i": [2, 2, 3, 3], "%s": [2, 2], "%t": [2, 2], "%d": [1, 1, 1],
    "%p": [4, 4], "%q": [4, 4], "%o": [4, 4], "%u": [5, 5], "%k": [6, 6], "%later": [7, 7], "%e": [3, 3, None, 9, 9],
    "@f": [1, 1, 12], "@g": [9, None], '@"odd name"': [10],
}  # fmt: skip


@pytest.mark.parametrize("name", DEFINED_AT)
def test_names_are_found_in_their_blocks(name: str) -> None:
    found = []
    for use in re.finditer(rf"{re.escape(name)}(?![\w$.\-])", SCOPES):
        token = token_at(SCOPES, use.start())
        at = None if token is None else definition(SCOPES, token)
        found.append(None if at is None else SCOPES.count("\n", 0, at[0]))
    assert found == DEFINED_AT[name]


def test_no_text_ends_the_server(editor: Editor) -> None:
    """What aborts MLIR's parser, what is no text at all, what is too long; and messages that nobody knows."""
    junk = [
        "", "\0\1\2", "\udcff", "é" * 1000, "(" * 100_000, "%" * 10_000, '"', "#ragged.layout<", "tensor<" * 999,
        "{-# dialect_resources: { builtin: { a: \"0x00000000\" } } #-}", "\r\n\r", "%x = \N{LINE SEPARATOR}%x",
        "func.func @f(%x: tensor<" + "9" * 5000 + "xf32>)",
    ]  # fmt: skip
    for text in junk:
        found = editor.open(text)
        assert isinstance(found, list)
        for offset in (0, len(text) // 2, len(text)):
            editor.hover(offset)
            editor.definition(offset)
    editor.notify("ragged/nothing", {"no": "such"})
    assert editor.open(CLOSED) == []


def served(*bodies: bytes) -> subprocess.CompletedProcess[bytes]:
    """A server that got messages, whatever they are, and no more after them."""
    frames = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies)
    command = [sys.executable, "-m", "ragged_dialect.tools.ragged_lsp", "--stdio"]
    return subprocess.run(command, input=frames, capture_output=True, timeout=60, check=False)


def talk(*bodies: bytes) -> tuple[list[Any], str]:
    """What the server answers to messages before it is shut down, and what it says on stderr."""
    done = served(*bodies, SHUTDOWN, EXIT)
    assert done.returncode == 0
    found = re.findall(rb"\r\n\r\n(\{.*?\})(?=Content-Length|$)", done.stdout, re.DOTALL)
    answers = [json.loads(body) for body in found]
    return [answer for answer in answers if answer.get("id") != LAST], done.stderr.decode()


def request(number: int, method: str, params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()


LAST = 10**6
INITIALIZE = request(1, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
SHUTDOWN = request(LAST, "shutdown", None)
EXIT = b'{"jsonrpc": "2.0", "method": "exit"}'


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("messages", "code"),
    [
        ([INITIALIZE, SHUTDOWN, EXIT], 0),
        ([INITIALIZE, SHUTDOWN], 0),
        ([INITIALIZE, EXIT], 1),
        ([INITIALIZE], 1),
        ([EXIT], 1),
    ],
)
def test_the_exit_code_says_whether_it_was_shut_down(messages: list[bytes], code: int) -> None:
    done = served(*messages)
    assert (done.returncode, done.stderr) == (code, b"")


ASKED: list[tuple[object, int | None]] = [
    ({}, -32602),
    (None, -32602),
    ({"textDocument": {"uri": URI}, "position": {"line": -1, "character": 0}}, -32602),
    ({"textDocument": {"uri": URI}, "position": {"line": 2**31 - 1, "character": 2**31 - 1}}, None),
    ({"textDocument": {"uri": "file:///not/open.mlir"}, "position": {"line": 0, "character": 0}}, None),
    ({"textDocument": {"uri": f"file://{__file__}"}, "position": {"line": 30, "character": 2}}, None),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", ["textDocument/hover", "textDocument/definition"])
def test_every_request_is_answered(method: str) -> None:
    """Positions behind the end, documents that are not open, parameters that are none; bodies that are no messages."""
    document = {"uri": URI, "languageId": "mlir", "version": 1, "text": CLOSED}
    opened = json.dumps({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": document}})
    start = request(99, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    asked = [request(number, method, params) for number, (params, _) in enumerate(ASKED)]
    answers, said = talk(start, opened.encode(), b"{}", b"[", b"1", b"\xff", *asked)
    found = {answer["id"]: answer for answer in answers if "id" in answer}
    for number, (_, code) in enumerate(ASKED):
        assert found[number].get("error", {}).get("code") == code
    assert "Traceback" not in said
    assert all(line.startswith("ragged-lsp: ") for line in said.splitlines())


def test_nothing_is_answered_before_initialize() -> None:
    """`initialize` comes first, and what comes before it is no mistake of the server's."""
    start = request(1, "initialize", {"processId": None, "rootUri": None, "capabilities": {}})
    asked = {"textDocument": {"uri": URI}, "position": {"line": 0, "character": 0}}
    answers, said = talk(request(0, "textDocument/hover", asked), start, request(2, "textDocument/hover", asked))
    found = {answer["id"]: answer for answer in answers if "id" in answer}
    expected = {"code": -32002, "message": "expected initialize first, got textDocument/hover"}
    assert {key: found[0]["error"][key] for key in expected} == expected
    assert "Traceback" not in said + json.dumps(answers)
    assert "capabilities" in found[1]["result"]
    assert found[2]["result"] is None


LONG_LINES = [
    "@f " + "func " * 20_000, "%a = " + "%a, " * 20_000, "%a " + "{%a, " * 20_000, "tensor<" + "1x" * 50_000,
    "tensor<?xf32" + " " * 100_000, '@f "' + '\\"' * 50_000, "%a " + "{" * 20_000 + "%a" * 20_000,
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", LONG_LINES, ids=lambda text: text[:12])
def test_long_lines_take_time_by_their_length(text: str) -> None:
    start = time.process_time()
    for offset in (0, len(text) // 2):
        hover(text, offset, analysis.Analysis())
    assert time.process_time() - start < 5


def test_half_typed_programs(editor: Editor) -> None:
    """Every eleventh prefix of a program, with what stands at its end."""
    for end in range(0, len(PROGRAM), 11):
        editor.open(PROGRAM[:end])
        editor.hover(end)
        editor.definition(end)


def test_long_documents_are_not_looked_at() -> None:
    text = " " * (analysis.LONGEST + 1)
    (found,) = analysis.analyse(text).diagnostics
    assert found.message == "expected a document of at most 4 MiB, got more: it is not looked at"
    assert hover(text, 0, analysis.Analysis()) is None


def test_a_child_that_dies_is_a_diagnostic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "load_module", lambda *_: os.abort())
    (found,) = analysis.analyse(CLOSED).diagnostics
    assert found.message == "expected text that MLIR can read, got some that ends its parser"


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((ROOT / "lit_tests").glob("**/*.mlir")), ids=lambda path: path.stem)
def test_values_of_lit_files_are_defined(path: Path) -> None:
    """All that a valid file uses is found."""
    if path.stem.endswith("-invalid"):
        return
    text = path.read_text()
    hidden = re.compile(rf"{STRING}|//(?! ?-----).*")
    program = hidden.sub(lambda m: " " * len(m.group()) if "%" in m.group() or m.group()[0] == "/" else m.group(), text)
    lost = [
        use.group()
        for use in re.finditer(r"(?<![\w\"])[%][\w$.\-]+", program)
        if (token := token_at(program, use.start())) is not None and definition(program, token) is None
    ]
    assert lost == []


def test_without_pygls(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(ragged_lsp, "find_spec", lambda _: None)
    assert ragged_lsp.main([]) == 1
    expected = "ragged-lsp: expected the package pygls, got none (pip install ragged-dialect[lsp])\n"
    assert capsys.readouterr().err == expected
