/* The pruned head through the C interface: an engine passes its LM head and a hidden state, scores only the active
 * rows, and gets token ids. */

#include <math.h>
#include <shortlist.h>
#include <stdio.h>
#include <stdlib.h>

enum { VOCAB_SIZE = 32000, HIDDEN = 64, BASE = 1000 };

static void check(shortlist_status status) {
  if (status == SHORTLIST_OK) return;
  fprintf(stderr, "%s\n", shortlist_last_error());
  exit(1);
}

int main(void) {
  /* Data of the engine: a weight and the state of one token. */
  float* weight = malloc(sizeof(float) * VOCAB_SIZE * HIDDEN);
  if (weight == NULL) return 1;
  for (int i = 0; i < VOCAB_SIZE * HIDDEN; ++i) weight[i] = sinf((float)i * 0.37f);
  const float* state = weight + (VOCAB_SIZE - 1) * HIDDEN;

  int32_t base[BASE];
  for (int i = 0; i < BASE; ++i) base[i] = i;
  shortlist_vocab* vocab;
  shortlist_head* head;
  check(shortlist_vocab_create(base, BASE, VOCAB_SIZE, /*dynamic_capacity=*/128, &vocab));
  check(shortlist_head_create(weight, SHORTLIST_F32, VOCAB_SIZE, HIDDEN, /*num_threads=*/2, &head));

  int32_t drafted[2], emitted[2];
  for (int step = 0; step < 2; ++step) {
    shortlist_snapshot* snapshot; /* one for the whole step */
    check(shortlist_vocab_snapshot(vocab, &snapshot));
    shortlist_states states = {state, 1, snapshot, NULL, NULL};
    check(shortlist_head_argmax(head, &states, &drafted[step], NULL));
    /* The target scores all rows and emits its best token. An escaped token is active from the next step on. */
    shortlist_states full = {state, 1, NULL, NULL, NULL};
    check(shortlist_head_argmax(head, &full, &emitted[step], NULL));
    printf("step %d: drafted %d, emitted %d: %s\n", step, drafted[step], emitted[step],
           drafted[step] == emitted[step] ? "accepted" : "corrected");
    check(shortlist_vocab_observe(vocab, &emitted[step], 1, &drafted[step], 1, snapshot));
    check(shortlist_snapshot_free(snapshot));
  }
  check(shortlist_head_free(head));
  check(shortlist_vocab_free(vocab));
  free(weight);
  return drafted[1] == emitted[0] ? 0 : 1; /* what escaped once is drafted from then on */
}
