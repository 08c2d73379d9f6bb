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

/// How far `done` of `total` bytes are after `seconds`, and how long the rest takes at that pace:
/// "; 25% of 800 MB, 3 min left". Empty where `total` or what is done is 0.
std::string ProgressNote(int64_t done, int64_t total, double seconds);

/// Counts texts into `Counts`, and keeps a file of what is counted so far, from which a later run
/// goes on. Of one thread, which uses those of a pool.
class CorpusCounter {
 public:
  struct Options {
    DocumentFields fields;
    bool is_jsonl = false;
    int64_t max_pairs = 0;    // of a corpus
    std::string counts_path;  // where counts are kept; empty: nowhere
  };

  /// `counts`: what an earlier run has left, or none. The references must outlive this.
  CorpusCounter(const Options& options, const EncodeText& encode, ThreadPool& pool, Counts& counts)
      : options_(options), encode_(encode), pool_(pool), counts_(counts) {}

  /// Counts what the earlier run has not. Errors of CheckCounted, before anything is counted;
  /// RefuseTexts where a file that was counted in part begins with other documents than those that
  /// were counted; CheckUnchanged at the end of a file; Cancelled behind a signal of StopSignals.
  /// Other errors are those of Documents, CountDocuments and WriteCounts; what was counted before
  /// one is kept in the file. How far it is goes to stderr.
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
  // As they are stored: of all files to count, 0 where one does not tell, and of those counted.
  int64_t num_stored_bytes_ = 0, num_stored_done_ = 0;
  MissingMembers missing_;
  NoteTimer timer_;
  double last_kept_s_ = SteadySeconds();
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_CORPUS_COUNTER_H_
