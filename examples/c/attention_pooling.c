/* Attention pooling from C, without Python or MLIR:
 *
 *   ragged-compile examples/attention_pooling.mlir --target cpu -o libattention_pooling.so
 *   cc examples/c/attention_pooling.c -I. libattention_pooling.so -Wl,-rpath,. -o pooling && ./pooling
 */
#include "attention_pooling.h"
#include <stdio.h>

enum { WIDTH = 64, WORDS = 3, DOCUMENTS = 3 };

static void print_document(const attention_pooling_result *result, const int64_t *offsets, int document) {
  const float *pooled = result->result0.data + (int64_t)WIDTH * document;
  printf("document %d: weights", document);
  for (int64_t word = offsets[document]; word < offsets[document + 1]; word++)
    printf(" %.3f", result->result1.data[word]);
  printf(", pooled %.3f %.3f\n", pooled[0], pooled[1]);
}

int main(void) {
  /* Three words, each a unit vector: two in the first document, none in the second, one in the third. */
  static const float words[WORDS][WIDTH] = {{1, 0}, {0, 1}, {0, 1}};
  static const float query[WIDTH] = {4, 0};
  const int64_t offsets[DOCUMENTS + 1] = {0, 2, 2, 3};
  const int64_t wrong[DOCUMENTS + 1] = {0, 2, 1, 3};
  attention_pooling_result result;

  if (attention_pooling(words[0], WORDS, offsets, DOCUMENTS + 1, query, &result) != 0) {
    fprintf(stderr, "%s\n", attention_pooling_error());
    return 1;
  }
  for (int document = 0; document < DOCUMENTS; document++) print_document(&result, offsets, document);
  attention_pooling_free(&result);

  if (attention_pooling(words[0], WORDS, wrong, DOCUMENTS + 1, query, &result) != 0)
    printf("refused: %s\n", attention_pooling_error());
  return 0;
}
