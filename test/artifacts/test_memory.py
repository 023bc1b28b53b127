"""Shared libraries for the CPU without memory: a code, a text, and nothing lost."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.c_program import NO_CC, call, compile_c
from support.structures import text_of
from support.threaded_programs import OFFSETS, PROGRAMS, VALUES, X

from ragged_dialect import AllocationError, compile
from ragged_dialect.artifacts.cpu_library import write

pytestmark = pytest.mark.skipif(NO_CC is not None, reason=NO_CC or "")

PADDED = text_of(
    [X, "index"],
    ["%z = arith.constant 0.0 : f32", f"%0 = ragged.to_padded %a0, %z, %a1 : ({X}, f32, index) -> tensor<?x?x8xf32>"],
    [("%0", "tensor<?x?x8xf32>")],
)
# The process's malloc, which the library takes memory from, is this one: allocations fail one by one.
MAIN = """
#include "f.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t size);
void __libc_free(void *memory);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int armed;
static long count, live, fail_at;

void *malloc(size_t size) {
  void *made = NULL;
  pthread_mutex_lock(&lock);
  if (!armed || ++count != fail_at) {
    made = __libc_malloc(size);
    live += armed && made;
  }
  pthread_mutex_unlock(&lock);
  return made;
}

void free(void *memory) {
  pthread_mutex_lock(&lock);
  live -= armed && memory;
  pthread_mutex_unlock(&lock);
  __libc_free(memory);
}

static float values[ROWS * 8];
static int64_t offsets[OFFSETS];

static int run(long n) {
  f_result result;
  armed = 1, count = 0, live = 0, fail_at = n;
  int code = f(values, ROWS, offsets, OFFSETS, &result);
  for (size_t k = 0; code && k < sizeof result; k++) if (((char *)&result)[k]) code = -1;
  if (code && strncmp(f_error(), "f: expected memory for ", 23)) code = -2;
  f_free(&result);
  armed = 0;
  return live ? -3 : code;
}

int main(void) {
  if (fread(values, 1, sizeof values, stdin) != sizeof values) return 3;
  if (fread(offsets, 1, sizeof offsets, stdin) != sizeof offsets) return 3;
  f_set_threads(THREADS);
  if (run(0)) return 4;
  long most = count;
  printf("%ld\\n", most);
  for (long n = 1; n <= most; n += n < 20 || n + 41 > most ? 1 : 41) {
    int code = run(n);
    if (code != 2) return fprintf(stderr, "%ld: %d %s\\n", n, code, f_error()), 5;
    if (run(0)) return 6;
  }
  return 0;
}
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("threads", [1, 3])
def test_every_allocation_may_fail(threads: int, tmp_path: Path) -> None:
    body, result = PROGRAMS["sum by softmax"]  # whose parts have temporaries of their own
    library = write(text_of([X], body, [("%0", result)]), None, tmp_path / "libf.so")[0]
    source, program = tmp_path / "main.c", tmp_path / "main"
    source.write_text(MAIN)
    sizes = {"THREADS": threads, "ROWS": len(VALUES), "OFFSETS": len(OFFSETS)}
    defines = [f"-D{name}={size}" for name, size in sizes.items()]
    compile_c(source, program, ["-pthread", *defines, f"-I{tmp_path}", str(library), f"-Wl,-rpath,{tmp_path}"])
    done = subprocess.run([str(program)], input=VALUES.tobytes() + OFFSETS.tobytes(), capture_output=True, check=False)
    assert done.returncode == 0, done
    assert int(done.stdout) > 3 * threads


@pytest.mark.sampled(3)
@pytest.mark.parametrize("extent", [2**40, 2**45, 2**50])
def test_the_text_is_that_of_compile(extent: int, tmp_path: Path) -> None:
    library = write(PADDED, None, tmp_path / "libf.so")[0]
    function = compile(PADDED)
    with pytest.raises(AllocationError) as error:
        function((VALUES, OFFSETS), extent)
    assert call(library, function.signature, [(VALUES, OFFSETS), extent]) == str(error.value)
