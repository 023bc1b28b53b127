"""Calling a compiled library from C: a main program is generated from the library's header and some
arguments, compiled as strict C99, and run."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ragged_dialect.runtime.signature import Part, Signature

NO_CC = None if shutil.which("cc") else "no C compiler"
STRICT = ("-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")
C_TYPES = {
    "bool": "uint8_t", "int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t",
    "float16": "uint16_t", "bfloat16": "uint16_t", "float32": "float", "float64": "double",
}  # fmt: skip


def call(library: Path, signature: Signature, arguments: Sequence[Any], threads: int = 1) -> list[Any] | str:
    """The results of a call as arrays and numbers, part by part, or the error text where it fails."""
    folder, name = library.parent, library.stem.removeprefix("lib")
    source, program = folder / "main.c", folder / "main"
    parts = [part for group in signature.arguments for part in group.parts]
    flat = [x for argument in arguments for x in (argument if isinstance(argument, tuple) else (argument,))]
    values = [np.asarray(value).astype(part.dtype) for part, value in zip(parts, flat, strict=True)]
    source.write_text(_main(signature, parts, values, threads, name))
    compile_c(source, program, ["-I", str(folder), str(library), f"-Wl,-rpath,{folder}"])
    given = b"".join(value.tobytes() for value in values)
    done = subprocess.run([str(program)], input=given, capture_output=True, check=False)
    if done.returncode == 1:
        return done.stderr.decode()
    assert done.returncode == 0, done
    return _read(done.stdout, signature)


def compile_c(source: Path, output: Path, options: Sequence[str]) -> None:
    """Compile a C99 program; warnings are errors."""
    done = subprocess.run(["cc", *STRICT, "-o", str(output), str(source), *options], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def _main(signature: Signature, parts: Sequence[Part], values: Sequence[Any], threads: int, include: str) -> str:
    """A program that reads the arguments from stdin and writes the results to stdout, as raw bytes."""
    name = signature.name
    lines: list[str] = []
    given: list[str] = []
    for number, (part, value) in enumerate(zip(parts, values, strict=True)):
        kind, slot = C_TYPES[part.dtype.name], f"a{number}"
        lines.append(f"  {kind} *{slot} = {f'malloc({value.nbytes})' if value.nbytes else 'NULL'};")
        if value.nbytes:
            lines.append(f"  if (fread({slot}, 1, {value.nbytes}, stdin) != {value.nbytes}) return 2;")
        given.append(slot if part.shape is not None else f"*{slot}")
        given += [str(value.shape[axis]) for axis, extent in enumerate(part.shape or ()) if extent is None]
    if signature.results:
        given.append("&result")
        lines.append(f"  {name}_result result;")
    lines += [
        f"  {name}_set_threads({threads});",
        f"  if ({name}({', '.join(given)})) {{ fputs({name}_error(), stderr); return 1; }}",
        *_writes(signature),
        f"  {name}_free(&result);\n  {name}_free(&result);" if signature.results else "",
        "  return 0;",
    ]
    body = "\n".join(lines)
    return f'#include "{include}.h"\n#include <stdio.h>\n#include <stdlib.h>\n\nint main(void) {{\n{body}\n}}\n'


def _writes(signature: Signature) -> list[str]:
    lines: list[str] = []
    for number, group in enumerate(signature.results):
        for part in group.parts:
            place = f"result.result{number}" + (f".{part.name}" if group.ragged else "")
            if part.shape is None:
                lines.append(f"  fwrite(&{place}, sizeof {place}, 1, stdout);")
                continue
            count = "".join(f" * {place}.sizes[{axis}]" for axis in range(len(part.shape)))
            if part.shape:
                lines.append(f"  fwrite({place}.sizes, sizeof {place}.sizes, 1, stdout);")
            lines.append(f"  fwrite({place}.data, sizeof *{place}.data, (size_t)(1{count}), stdout);")
    return lines


def _read(data: bytes, signature: Signature) -> list[Any]:
    results: list[Any] = []
    at = 0
    for part in [part for group in signature.results for part in group.parts]:
        rank = len(part.shape or ())
        sizes = np.frombuffer(data, np.int64, rank, at)
        at += sizes.nbytes
        values = np.frombuffer(data, part.dtype, int(np.prod(sizes)), at).reshape(sizes)
        at += values.nbytes
        results.append(values if part.shape is not None else values[()])
    assert at == len(data)
    return results
