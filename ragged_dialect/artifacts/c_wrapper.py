"""The C source between the header's functions and the compiled program.

It makes memref descriptors of pointers and extents, calls the packed entry, and takes the results
out of their descriptors. A descriptor is an array of int64_t: what was allocated, the data, an
offset, sizes, strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import Formatter

from ragged_dialect.artifacts.c_header import prototype
from ragged_dialect.artifacts.c_interface import Member, Parameter, c_name, c_type, members, parameters
from ragged_dialect.artifacts.packed_entry import packed_name
from ragged_dialect.checks import CHECK_KINDS, Check
from ragged_dialect.runtime.callbacks import CHECKED
from ragged_dialect.runtime.signature import Signature
from ragged_dialect.runtime.status import Status


def explain(checks: Sequence[Check]) -> str:
    """What is where in a status record, in C, and a function that turns one into the text that `Check.message` makes
    of it."""
    entries = [*(f"STATUS_{name.upper()}" for name in (*Status._fields, "entries")), f"CHECKED = {CHECKED}"]
    lines = [
        f"enum {{ {', '.join(entries)} }};",
        "",
        "static int _explain(const int64_t *status) {",
        "  const int64_t i = status[STATUS_COMPONENT], j = i + 1, a = status[STATUS_A], b = status[STATUS_B];",
        "  (void)i, (void)j, (void)a, (void)b;",
    ]
    for number, check in enumerate(checks, 1):
        for case in range(len(CHECK_KINDS[check.kind].cases)):
            lines += [_case(number, check, case, empty=True)] if check.has_empty else []
            lines.append(_case(number, check, case))
    return "\n".join([*lines, "  return 1;", "}\n"])


def _case(number: int, check: Check, case: int, empty: bool = False) -> str:
    whole, placed = (_call(check.template(case, component, empty)) for component in (False, True))
    last = " && b == 0" if empty else ""
    condition = f"  if (status[STATUS_NUMBER] == {number} && status[STATUS_CASE] == {case}{last})"
    return f"{condition} return {whole if whole == placed else f'i < 0 ? {whole} : {placed}'};"


def _call(template: str) -> str:
    """A call of `_fail` that fills a text in, where `{name}` stands for an int64_t of that name."""
    pieces: list[str] = []
    values: list[str] = []
    for literal, name, _, _ in Formatter().parse(template):
        pieces.append(literal.replace("%", "%%"))
        if name is not None:
            pieces.append("%lld")
            values.append(f"(long long){name}")
    return f"_fail({', '.join([c_string(''.join(pieces)), *values])})"


def c_string(text: str) -> str:
    """A C string literal of a text, in UTF-8."""
    return '"' + "".join(_character(byte) for byte in text.encode()) + '"'


def _character(byte: int) -> str:
    plain = 32 <= byte < 127 and byte not in b'"\\?'  # ? could be part of a trigraph
    return chr(byte) if plain else f"\\{byte:03o}"


_HELPERS = r"""
static __thread char _message[512];

static int _fail(const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(_message, sizeof _message, format, values);
  va_end(values);
  return 1;
}

/* What the compiled program calls for memory notes what a call holds, and frees it when there is none. */
int64_t ragged_call(void (*function)(void **), void **slots, int64_t *status);

static int _no_memory(const char *name, int64_t size) {
  if (size == INT64_MAX) _fail("%s: expected a buffer of less than 2**63 bytes, got a larger one", name);
  else _fail("%s: expected memory for %lld bytes, got none", name, (long long)size);
  return 2;
}

/* Fills a descriptor; 1 when data and sizes do not fit together. */
static inline int _describe(int64_t *memref, const void *data, int rank, const int64_t *sizes, const char *place) {
  uint64_t stride = 1;
  memref[0] = memref[1] = (int64_t)(intptr_t)data;
  memref[2] = 0;
  for (int axis = rank - 1; axis >= 0; axis--) {
    if (sizes[axis] < 0)
      return _fail("%s: expected an extent of at least 0 on axis %d, got %lld", place, axis, (long long)sizes[axis]);
    memref[3 + axis] = sizes[axis];
    memref[3 + rank + axis] = (int64_t)stride;
    stride *= (uint64_t)sizes[axis];
  }
  return data == NULL && stride != 0 ? _fail("%s: expected an array, got NULL", place) : 0;
}

/* Puts what a descriptor allocated into memory[at], as a copy if an earlier result has it; returns
 * the data, NULL when there is no memory for a copy. */
static inline void *_take(const int64_t *memref, int rank, size_t element, void **memory, int at) {
  void *allocated = (void *)(intptr_t)memref[0];
  char *data = (char *)(intptr_t)memref[1] + memref[2] * (int64_t)element;
  for (int k = 0; k < at; k++) {
    if (memory[k] != allocated) continue;
    for (int axis = 0; axis < rank; axis++) element *= (size_t)memref[3 + axis];
    memory[at] = malloc(element ? element : 1);
    return memory[at] ? memcpy(memory[at], data, element) : NULL;
  }
  memory[at] = allocated;
  return data;
}
"""


def wrapper(signature: Signature, checks: Sequence[Check], include: str, threaded: bool) -> str:
    """Source of the functions that the header `include` declares. `threaded` tells whether the
    program has `ragged_set_threads`."""
    name = c_name(signature.name)
    arguments = parameters(signature)  # not by the source's names, which could be those of locals
    pieces = [
        f'#include "{include}"\n',
        *(f"#include <{header}>\n" for header in ("stdarg.h", "stdio.h", "stdlib.h", "string.h")),
        f"\nvoid {packed_name(signature.name)}(void **slots);\n",
        "void ragged_set_threads(int64_t count);\n" if threaded else "",
        _HELPERS,
        f"\n{explain(checks)}" if checks else "",
        f"\nconst char *{name}_error(void) {{ return _message; }}\n",
        f"\nvoid {name}_set_threads(int count) {{ {'ragged_set_threads(count)' if threaded else '(void)count'}; }}\n",
        _free(signature) if signature.results else "",
        _function(signature, arguments, bool(checks)),
    ]
    return "".join(pieces)


def _free(signature: Signature) -> str:
    name = c_name(signature.name)
    lines = [f"void {name}_free({name}_result *result) {{", "  if (result == NULL) return;"]
    count = sum(member.is_array for member in members(signature))
    if count:
        lines.append(f"  for (int k = 0; k < {count}; k++) free(result->memory[k]);")
    return "\n".join(["", *lines, "  memset(result, 0, sizeof *result);", "}", ""])


def _function(signature: Signature, arguments: Sequence[Parameter], checked: bool) -> str:
    returned = members(signature)
    lines = [f"\n{prototype(signature, arguments)} {{"]
    if signature.results:
        lines.append("  memset(result, 0, sizeof *result);")
    slots: list[str] = []
    for number, argument in enumerate(arguments):
        code, slot = _argument(number, argument)
        lines += code
        slots.append(slot)
    if returned:
        lines += _returned_struct(returned)
        is_scalar = len(returned) == 1 and not returned[0].is_array
        # a scalar alone is returned, and stored to where the last slot points
        slots.insert(len(slots) if is_scalar else 0, "&made")
    lines.append(f"  void *slots[] = {{{', '.join(slots) or 'NULL'}}};")
    if checked:
        lines.append("  int64_t status[STATUS_ENTRIES];")
    call = f"ragged_call({packed_name(signature.name)}, slots, {'status' if checked else 'NULL'})"
    lines.append(f"  const int64_t size = {call};")
    if checked:
        lines.append("  if (size == CHECKED) return _explain(status);")
    lines.append(f"  if (size != 0) return _no_memory({c_string(signature.name)}, size);")
    return "\n".join([*lines, *_take_results(signature, returned), "  return 0;", "}", ""])


def _argument(number: int, argument: Parameter) -> tuple[list[str], str]:
    """Statements that prepare an argument, and its slot."""
    name, part, sizes = argument.name, argument.part, argument.sizes
    place = c_string(argument.place)
    if sizes is None:
        if part.extent:
            text = c_string(f"{argument.place}: expected an extent of at least 0, got %lld")
            return [f"  if ({name} < 0) return _fail({text}, (long long){name});"], f"&{name}"
        return [f"  {name} = {name} != 0;"] if part.dtype.kind == "b" else [], f"&{name}"
    made = f"memref_{number}"
    shape = f"(const int64_t[]){{{', '.join(sizes)}}}" if sizes else "NULL"
    return [
        f"  int64_t {made}[{3 + 2 * len(sizes)}];",
        f"  if (_describe({made}, {name}, {len(sizes)}, {shape}, {place})) return 1;",
    ], made


def _returned_struct(returned: Sequence[Member]) -> list[str]:
    """The struct that MLIR's C interface returns results in."""
    fields: list[str] = []
    for number, member in enumerate(returned):
        shape = member.part.shape
        kind = c_type(member.part.dtype) if shape is None else "int64_t"
        size = "" if shape is None else f"[{3 + 2 * len(shape)}]"
        fields.append(f"    {kind} part{number}{size};")
    return ["  struct {", *fields, "  } made;"]


def _take_results(signature: Signature, returned: Sequence[Member]) -> list[str]:
    lines: list[str] = []
    at = 0
    for number, member in enumerate(returned):
        target, source = f"result->{member.path}", f"made.part{number}"
        shape = member.part.shape
        if shape is None:
            lines.append(f"  {target} = {source};")
            continue
        element = f"sizeof *{target}.data"
        lines.append(f"  {target}.data = _take({source}, {len(shape)}, {element}, result->memory, {at});")
        if shape:
            lines.append(f"  memcpy({target}.sizes, {source} + 3, sizeof {target}.sizes);")
        at += 1
    return [*lines, *_no_memory(signature, at)]


def _no_memory(signature: Signature, arrays: int) -> list[str]:
    """Only a copy of a result can lack memory, which is never the first array."""
    if arrays < 2:
        return []
    text = c_string(f"{signature.name}: expected memory for the results, got none")
    return [
        f"  for (int k = 1; k < {arrays}; k++) {{",
        "    if (result->memory[k] != NULL) continue;",
        f"    {c_name(signature.name)}_free(result);",
        f"    _fail({text});",
        "    return 2;",
        "  }",
    ]
