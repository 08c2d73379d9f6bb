#ifndef SHORTLIST_CLI_VOCAB_CORPUS_COUNTER_H_
#define SHORTLIST_CLI_VOCAB_CORPUS_COUNTER_H_

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "cli/progress.h"
#include "cli/vocab/text_corpora.h"
#include "vocab/counting/count_file.h"

namespace shortlist {

/// Share of `done` in `total` bytes after `seconds`, and the time left at that pace: "; 25% of 800
/// MB, 3 min left". Empty if `total` or `done` is 0.
std::string ProgressNote(int64_t done, int64_t total, double seconds);

/// Counts texts into `Counts` and saves the counts to a file from which a later run can resume.
/// Used by one thread, which uses the threads of a pool.
class CorpusCounter {
 public:
  struct Options {
    DocumentFields fields;
    bool is_jsonl = false;
    int64_t max_pairs = 0;    // per corpus
    std::string counts_path;  // file that keeps the counts; empty: none
  };

  /// `counts`: counts of an earlier run, or empty. The references must outlive this.
  CorpusCounter(const Options& options, const EncodeText& encode, ThreadPool& pool, Counts& counts)
      : options_(options), encode_(encode), pool_(pool), counts_(counts) {}

  /// Counts what the earlier run has not counted. Errors: CheckCounted, before anything is counted;
  /// RefuseTexts if a partly counted file now begins with other documents; CheckUnchanged at the
  /// end of a file; Cancelled after a signal of StopSignals. Other errors are those of Documents,
  /// CountDocuments and WriteCounts. On error, the counts so far are kept in the file. Progress
  /// goes to stderr.
  absl::Status Count(const std::vector<TextCorpus>& corpora, std::istream& in);

 private:
  absl::Status CountFile(const std::string& path, std::istream& in, CorpusCounts& counts);
  absl::Status Keep();
  void NoteProgress(const std::string& path, const Documents& documents);

  const Options options_;
  const EncodeText& encode_;
  ThreadPool& pool_;
  Counts& counts_;
  int64_t num_bytes_ = 0;
  // Stored bytes of all files to count (0 if one is unknown), and of the files counted so far.
  int64_t num_stored_bytes_ = 0, num_stored_done_ = 0;
  MissingMembers missing_;
  NoteTimer timer_;
  double last_kept_s_ = SteadySeconds();
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_CORPUS_COUNTER_H_
