"""Writes `docs/flags.md`: every flag of `ragged-opt`, run, and what differs when it is there.

`python docs/generate_flags.py` writes it; with `--check` it writes nothing and exits with 1 when it is out of date.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples" / "plugin")]

from generated import write_or_check  # noqa: E402  (the repository comes first on the path)

from ragged_dialect.tools import ragged_opt  # noqa: E402
from ragged_dialect.tools.flags import Flag, known  # noqa: E402
from ragged_dialect.tools.options import GROUPS, IMPOSSIBLE  # noqa: E402

_FUNCTION = """func.func @f(%x: tensor<?xf32>, %o: tensor<4xi64>) -> tensor<?xf32> {
  %r = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %s = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
  %m = ragged.merge %r {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
  return %m : tensor<?xf32>
}
"""
PROGRAMS = {
    "file": _FUNCTION
    + """func.func @g(%c: i1) -> (tensor<4xi64>, tensor<2xi32>) {
  %0 = arith.constant dense<[1, 2, 3, 4]> : tensor<4xi64> loc("named")
  %1 = arith.constant dense_resource<blob> : tensor<2xi32>
  return %0, %1 : tensor<4xi64>, tensor<2xi32>
}
{-# dialect_resources: { builtin: { blob: "0x040000000100000002000000" } } #-}
// -----
func.func @h() { return }
""",
    "one": _FUNCTION,
    "foreign": 'func.func @f() { "foreign.op"() : () -> () return }\n',
    "irdl": "irdl.dialect @foreign { irdl.operation @op {} }\n",
    "invalid": 'func.func @f(%a: i32, %b: i64) { %0 = "arith.addi"(%a, %b) : (i32, i64) -> i32 return }\n',
    "expected": "func.func @f(%a: i32) { return %a : i32 } // expected-error {{has 1 operands}}\n",
    "remark": """module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op {transform.readonly}) {
    transform.debug.emit_remark_at %root, "here" : !transform.any_op
    transform.yield
  }
}
""",
    "reproducer": f'{_FUNCTION}{{-# external_resources: {{ mlir_reproducer: {{ pipeline: "cse" }} }} #-}}\n',
}


@contextmanager
def _captured(folder: Path) -> Iterator[None]:
    """Standard output and errors in files: some of it is written by MLIR itself."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = [os.dup(number) for number in (1, 2)]
    for number, name in ((1, "stdout"), (2, "stderr")):
        opened = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    try:
        yield
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        for number, before in zip((1, 2), kept, strict=True):
            os.dup2(before, number)
            os.close(before)


def run(words: Sequence[str]) -> dict[str, object]:
    """What a command leaves: exit code, standard output and errors, files."""
    with tempfile.TemporaryDirectory() as made:
        folder, out = Path(made), Path(made, "out")
        inputs = {name: str(folder / f"{name}.mlir") for name in PROGRAMS}
        for name, text in PROGRAMS.items():
            Path(inputs[name]).write_text(text)
        argv = [word.format(out=out, **inputs) for word in words]
        with _captured(folder):
            code = ragged_opt.main(argv)
        files = {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("out*")) if p.is_file()}
        files |= {str(p.relative_to(folder)): p.read_bytes() for p in sorted(out.rglob("*")) if p.is_file()}
        streams = {name: (folder / name).read_text(errors="replace").replace(made, "") for name in ("stdout", "stderr")}
        shutil.rmtree(out, ignore_errors=True)
    return {"exit code": code, **streams, "a file": files}


def arguments(flag: Flag, example: Sequence[str]) -> list[str]:
    """The words of a command that shows a flag, or with no example what it is compared with."""
    words = [*flag.needs.split(), *example]
    given = [word for word in flag.needs.split() if word.startswith("{")]
    return words if given else ["{file}", *words]


def seen(flag: Flag) -> str:
    """What a flag changes. AssertionError where it changes nothing, or where it changes more than it says."""
    before, after = run(arguments(flag, [])), run(arguments(flag, [flag.example]))
    changed = [name for name in before if before[name] != after[name]]
    shown = ", ".join(changed)
    if flag.name.startswith("--mlir-pass-statistics-display"):
        return shown or "nothing: this wheel counts nothing"
    assert bool(changed) != flag.silent, f"expected {flag.name} to change something or to be silent, got '{shown}'"
    return shown or "nothing to see"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def table(group: type) -> str:
    """The flags of a group."""
    flags = dict.fromkeys(one.flag for one in known([group]).values())
    rows = [f"| `{_escaped(f.usage)}` | {f.help} | {f.served} | {seen(f)} |" for f in flags]
    return "\n".join([f"## {group.__doc__}", "", "| flag | what | by | changes |", "|---|---|---|---|", *rows])


def refused(flag: Flag) -> str:
    """A row for a flag that cannot be had, which the tool says."""
    left = run(["{file}", flag.name])
    assert left["exit code"] == 1
    assert flag.help in str(left["stderr"])
    return f"| `{flag.name}` | {flag.help} |"


def page() -> str:
    """The whole page; runs every flag."""
    count = len({one.flag for one in known(GROUPS).values()})
    parts = [
        "# Flags of `ragged-opt`",
        "Generated by `docs/generate_flags.py`, which runs every flag and compares what the tool leaves with and "
        "without it. The tool reads a flag with one dash or two, as `mlir-opt` does. Every other flag is a pass: "
        "`--cse`, `--ragged-canonicalize`, `--canonicalize=max-iterations=1`; they run in the order given.",
        f'{count} flags of `mlir-opt` and of this package work, {len(IMPOSSIBLE)} cannot be had. "By" says what serves '
        "them: the bindings of MLIR, code of this package, or `torch-mlir-opt` of the same wheel, through which the "
        "result passes then. That tool lacks some dialects, such as gpu and nvvm: it prints their ops in generic form, "
        "and refuses some.",
        *map(table, GROUPS),
        "## Flags that cannot be had",
        "\n".join(["| flag | why |", "|---|---|", *map(refused, IMPOSSIBLE)]),
    ]
    return "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str]) -> int:
    """Write or check the page."""
    return write_or_check({ROOT / "docs" / "flags.md": page()}, __file__, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
