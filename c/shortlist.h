#ifndef SHORTLIST_C_SHORTLIST_H_
#define SHORTLIST_C_SHORTLIST_H_

/* The active vocabulary and the pruned LM head, for engines in C or in any language that calls C.
 *
 * A call that can fail returns shortlist_status: 0 or an error. After an error,
 * shortlist_last_error() returns a message with value and bound; the call has changed nothing and
 * written no result. Every handle may be null, freed or of another kind: that is an ordinary error.
 * Any other pointer must be valid for the number of elements in its comment.
 *
 * Threads: all functions may be called by any thread. Vocabularies and snapshots may be used by
 * many threads at a time; calls of one head wait for each other. A handle freed by one thread stays
 * valid for the running calls of other threads; shortlist_head_free waits for them. Do not fork
 * while another thread is in a call. In the child, vocabularies and snapshots remain usable; a
 * head, whose threads do not exist there, rejects all calls but shortlist_head_free.
 *
 * docs/integrate.md says what to call when. */

#include <stdint.h>

#if defined(_WIN32)
#define SHORTLIST_API
#else
#define SHORTLIST_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers of the canonical codes of abseil and gRPC. */
typedef enum shortlist_status {
  SHORTLIST_OK = 0,
  SHORTLIST_INVALID_ARGUMENT = 3,
  SHORTLIST_NOT_FOUND = 5,           /* a file that does not exist */
  SHORTLIST_RESOURCE_EXHAUSTED = 8,  /* out of memory */
  SHORTLIST_FAILED_PRECONDITION = 9, /* a list that does not fit the vocabulary */
  SHORTLIST_OUT_OF_RANGE = 11,       /* an id, a row or a stride out of its bounds */
  SHORTLIST_INTERNAL = 13,
  SHORTLIST_UNAVAILABLE = 14 /* a file that cannot be read */
} shortlist_status;

/* "0.1.0" */
SHORTLIST_API const char* shortlist_version(void);

/* Returns the message of the last failed call of this thread; "" if there is none. Valid until the
 * thread's next failed call. */
SHORTLIST_API const char* shortlist_last_error(void);

/* ---- The active vocabulary -------------------------------------------------------------------
 *
 * Token ids are the target's, in [0, vocab_size). A row is a place in a snapshot. */

/* A fixed base and a bounded dynamic part that learns. */
typedef struct shortlist_vocab shortlist_vocab;
/* One version of a vocabulary, which never changes. A speculation step uses one version from its
 * first draft token to its verification. */
typedef struct shortlist_snapshot shortlist_snapshot;

/* Makes a vocabulary with the base base_ids [num_ids]: distinct, in any order; num_ids may be 0.
 * The dynamic part has at most dynamic_capacity ids, in [0, vocab_size]. */
SHORTLIST_API shortlist_status shortlist_vocab_create(const int32_t* base_ids, int64_t num_ids,
                                                      int64_t vocab_size, int64_t dynamic_capacity,
                                                      shortlist_vocab** vocab);

/* Makes a vocabulary with the base that `choice` describes: "FILE", "FILE:top=8192",
 * "FILE:ratio=0.25", "FILE:coverage=0.95:successors=384", "ratio:0.25" (the first ids), "empty" (no
 * ids) or "full" (the full head, which learns nothing). FILE is a *.vocab.json, a *.vocab.json.xz,
 * text with an id on each line, or a token map: *.pt, *.pth, *.npy, *.safetensors or *.bin (d2t and
 * t2d). `vocab_size` is the number of rows of the head, padding included; all ids of a list must
 * be below it. `fingerprint` is that of the tokenizer, as `shortlist show` prints it; that of a
 * JSON list must be the same. Null: the list is assumed to fit the tokenizer. The vocab_size of a
 * JSON list must be within 1024 of `vocab_size`. */
SHORTLIST_API shortlist_status shortlist_vocab_open(const char* choice, int64_t vocab_size,
                                                    const char* fingerprint,
                                                    int64_t dynamic_capacity,
                                                    shortlist_vocab** vocab);

/* Adds ids [num_ids] to the dynamic part; the least recently used ids are evicted. */
SHORTLIST_API shortlist_status shortlist_vocab_add(shortlist_vocab* vocab, const int32_t* ids,
                                                   int64_t num_ids);

/* Learns from one verification: the tokens that the target emitted and those drafted from
 * `snapshot` (null: the current one). Emitted ids that are not active are added. */
SHORTLIST_API shortlist_status shortlist_vocab_observe(shortlist_vocab* vocab,
                                                       const int32_t* emitted, int64_t num_emitted,
                                                       const int32_t* drafted, int64_t num_drafted,
                                                       const shortlist_snapshot* snapshot);

/* Counters since the vocabulary was made. */
typedef struct shortlist_vocab_counts {
  int64_t num_emitted;
  int64_t num_covered; /* of these, active when they were emitted */
  int64_t num_drafted;
  int64_t num_unmapped; /* of these, not in the snapshot: not 0 if rows and ids are mixed up */
  int64_t num_added;
  int64_t num_evicted;
  int64_t base_size;
  int64_t dynamic_size;
  int64_t dynamic_capacity;
} shortlist_vocab_counts;
SHORTLIST_API shortlist_status shortlist_vocab_stats(const shortlist_vocab* vocab,
                                                     shortlist_vocab_counts* counts);

/* Returns the current snapshot. A snapshot may outlive its vocabulary. */
SHORTLIST_API shortlist_status shortlist_vocab_snapshot(const shortlist_vocab* vocab,
                                                        shortlist_snapshot** snapshot);
/* Null is accepted; a handle that was freed before is InvalidArgument. */
SHORTLIST_API shortlist_status shortlist_vocab_free(shortlist_vocab* vocab);

/* Returns the version of the vocabulary, and the token ids of its rows [num_rows], valid until the
 * snapshot is freed. For the full head num_rows is 0 and ids null: row r is token r. Each result
 * may be null. */
SHORTLIST_API shortlist_status shortlist_snapshot_rows(const shortlist_snapshot* snapshot,
                                                       uint64_t* version, const int32_t** ids,
                                                       int64_t* num_rows);
/* Return the token of a row, and the row of a token: -1 if it is not active. */
SHORTLIST_API shortlist_status shortlist_snapshot_token(const shortlist_snapshot* snapshot,
                                                        int64_t row, int32_t* token);
SHORTLIST_API shortlist_status shortlist_snapshot_row(const shortlist_snapshot* snapshot,
                                                      int32_t token, int64_t* row);
/* Returns the ids [num_ids] that a list with successors adds after `token`, valid until the
 * snapshot is freed. They are a tail for shortlist_head_argmax after the ids of the dynamic part
 * are removed. */
SHORTLIST_API shortlist_status shortlist_snapshot_successors(const shortlist_snapshot* snapshot,
                                                             int32_t token, const int32_t** ids,
                                                             int64_t* num_ids);
SHORTLIST_API shortlist_status shortlist_snapshot_free(shortlist_snapshot* snapshot);

/* ---- The head --------------------------------------------------------------------------------
 *
 * The gather-GEMM: the rows of the weight named by a snapshot and tails, times hidden states.
 * Returns token ids. A row's logit has the same bits regardless of the other rows and tokens. */

typedef struct shortlist_head shortlist_head;

typedef enum shortlist_dtype {
  SHORTLIST_F32 = 0,
  SHORTLIST_F16 = 1,
  SHORTLIST_BF16 = 2
} shortlist_dtype;

/* weight: [vocab_size, hidden], row-major, kept by reference: it must stay valid and unchanged
 * until shortlist_head_free has returned. A vocab_size without the padding rows at the end of the
 * weight leaves them out. dtype: a shortlist_dtype. num_threads in [1, 1024], the calling thread
 * included. */
SHORTLIST_API shortlist_status shortlist_head_create(const void* weight, int32_t dtype,
                                                     int64_t vocab_size, int64_t hidden,
                                                     int32_t num_threads, shortlist_head** head);
/* Waits for running calls of other threads. */
SHORTLIST_API shortlist_status shortlist_head_free(shortlist_head* head);

/* The rows and states to score. */
typedef struct shortlist_states {
  const float* hidden; /* [num_tokens, hidden of the head] */
  int64_t num_tokens;
  /* Null: the full head. A snapshot of a full head must have the head's vocab_size. */
  const shortlist_snapshot* snapshot;
  /* The additional rows of each token, after those of the snapshot: tail_ids [tail_begin[m],
   * tail_begin[m + 1]), distinct ids that are not in the snapshot (else InvalidArgument).
   * tail_begin is [num_tokens + 1], first 0, never falling, last below 2^31; null: no tails.
   * Ignored for the full head. */
  const int64_t* tail_begin;
  const int32_t* tail_ids;
} shortlist_states;

/* Returns the token with the largest logit of each token's rows, ties to the lower id; -1 if all
 * logits are NaN or -infinity. ids: [num_tokens]; logits: [num_tokens] or null. A token without
 * rows is InvalidArgument. */
SHORTLIST_API shortlist_status shortlist_head_argmax(shortlist_head* head,
                                                     const shortlist_states* states, int32_t* ids,
                                                     float* logits);

/* Returns the k best of each token, best first, k in [1, 32] and at most its number of rows. ids,
 * logits: [num_tokens, k], -1 and -infinity after the last logit that is neither NaN nor -infinity;
 * log_sum_exp: [num_tokens] over all rows of the token, or null. */
SHORTLIST_API shortlist_status shortlist_head_top_k(shortlist_head* head,
                                                    const shortlist_states* states, int64_t k,
                                                    int32_t* ids, float* logits,
                                                    float* log_sum_exp);

/* logits[m * stride + r] becomes the logit of row r of token m; rows of its tail follow those of
 * the snapshot. Values after a token's own rows are -infinity. `stride`: at least the rows of the
 * token with the longest tail, vocab_size for the full head. */
SHORTLIST_API shortlist_status shortlist_head_logits(shortlist_head* head,
                                                     const shortlist_states* states, float* logits,
                                                     int64_t stride);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* SHORTLIST_C_SHORTLIST_H_ */
