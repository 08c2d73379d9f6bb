#ifndef SHORTLIST_CLI_VOCAB_CORPUS_FILE_H_
#define SHORTLIST_CLI_VOCAB_CORPUS_FILE_H_

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "vocab/counting/documents.h"
#include "vocab/counting/token_counts.h"

namespace shortlist {

/// The documents of one file of a corpus. The file must not change until they are read. Every
/// command that reads texts does so through this class. Used by one thread.
class CorpusFile {
 public:
  /// Records size and times of the file, and opens it. Errors and arguments are those of
  /// Documents::Open.
  static absl::StatusOr<CorpusFile> Open(const std::string& path, bool is_jsonl,
                                         const DocumentFields& fields, std::istream& in);

  /// As Documents::Read. At the end of the file, returns FailedPrecondition as CheckUnchanged:
  /// earlier documents may then belong to neither state of the file.
  absl::StatusOr<std::vector<Document>> Read(int64_t bytes);

  /// Reports the reading progress.
  const Documents& documents() const { return *documents_; }
  /// The file as it was before it was opened.
  const CountedFile& opened() const { return opened_; }

 private:
  CorpusFile(CountedFile opened, std::unique_ptr<Documents> documents)
      : opened_(std::move(opened)), documents_(std::move(documents)) {}

  CountedFile opened_;
  std::unique_ptr<Documents> documents_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_CORPUS_FILE_H_
