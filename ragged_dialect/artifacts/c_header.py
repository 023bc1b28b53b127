"""The C header of a compiled function."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect.artifacts.c_interface import Parameter, c_name, c_type, describe_group, members
from ragged_dialect.runtime.signature import Group, Part, Signature

COLUMNS = 100

_ABOUT = """\
/* {name}: compiled by ragged-compile.
 *
 * Arrays are contiguous, row-major, and aligned as their element type asks; one without elements may
 * be NULL. float16 and bfloat16 are their 16 bits, bool is true where it is not 0. Arguments are
 * never written, and must not change during a call; results share no memory with them. Calls from
 * several threads may overlap. */
"""

_CALL = """\
/* Returns 0, 1 when an argument does not fit or a run-time check refuses the data, or 2 when there is
 * no memory{then}; {name}_error() then says why.{arguments} */
"""

_SERVICES = """\
/* Why the last call of this thread that failed did so; valid until the thread's next failure. */
const char *{name}_error(void);

/* Threads that later calls may use, 1 until this is called; not while a call runs. */
void {name}_set_threads(int count);
"""

_FREE = """\
/* Frees the arrays of a result and clears it; a result that is cleared or NULL is left alone. */
void {name}_free({name}_result *result);

"""


def header(signature: Signature, arguments: Sequence[Parameter]) -> str:
    """Text of the header, for C99 and C++: the struct of the results, the function, and what goes
    with it."""
    name = c_name(signature.name)
    guard = f"RAGGED_{name}_H"
    pieces = [
        _ABOUT.format(name=name),
        f"#ifndef {guard}\n#define {guard}\n\n#include <stdint.h>\n\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n\n',
        _struct(signature) if signature.results else "",
        _call_comment(signature, arguments),
        f"{prototype(signature, arguments)};\n\n",
        _FREE.format(name=name) if signature.results else "",
        _SERVICES.format(name=name),
        f"\n#ifdef __cplusplus\n}}\n#endif\n\n#endif /* {guard} */\n",
    ]
    return "".join(pieces)


def prototype(signature: Signature, arguments: Sequence[Parameter]) -> str:
    """Declaration of the C function, without a semicolon."""
    name = c_name(signature.name)
    declared = [d for argument in arguments for d in argument.declarations]
    if signature.results:
        declared.append(f"{name}_result *result")
    line = f"int {name}({', '.join(declared) or 'void'})"
    return line if len(line) <= COLUMNS else line.replace("(", "(\n    ", 1).replace(", ", ",\n    ")


def _call_comment(signature: Signature, arguments: Sequence[Parameter]) -> str:
    listed = "".join(f"\n *   {argument.name}: {argument.description}" for argument in arguments)
    then = ", the latter two with nothing in the result" if signature.results else ""
    return _CALL.format(name=c_name(signature.name), then=then, arguments=listed)


def _struct(signature: Signature) -> str:
    name, lines = c_name(signature.name), ["typedef struct {"]
    for number, group in enumerate(signature.results):
        lines += _group(f"result{number}", group)
    count = sum(member.is_array for member in members(signature))
    if count:
        lines.append(f"  void *memory[{count}]; /* of the arrays; belongs to {name}_free */")
    return "\n".join([*lines, f"}} {name}_result;\n\n"])


def _group(name: str, group: Group) -> list[str]:
    comment = f"/* {describe_group(group)} */"
    if not group.ragged:
        return [f"  {_member(group.parts[0], name)} {comment}"]
    inner = [f"    {_member(part, part.name)}" for part in group.parts]
    return ["  struct {", *inner, f"  }} {name}; {comment}"]


def _member(part: Part, name: str) -> str:
    kind = c_type(part.dtype)
    if part.shape is None:
        return f"{kind} {name};"
    sizes = f" int64_t sizes[{len(part.shape)}];" if part.shape else ""
    return f"struct {{ {kind} *data;{sizes} }} {name};"
