#ifndef SHORTLIST_CLI_VOCAB_COUNTED_ALREADY_H_
#define SHORTLIST_CLI_VOCAB_COUNTED_ALREADY_H_

#include <string>

#include "absl/status/status.h"
#include "cli/vocab/text_corpora.h"
#include "vocab/counting/token_counts.h"

namespace shortlist {

/// What `path` is now; its size is not known where it is no regular file.
CountedFile LookAt(const std::string& path);

/// FailedPrecondition where the file is no longer what LookAt has found before it was read, so that
/// what was read may be neither; it names the file, both sizes and times, and what to do. A file
/// whose size was not known then, standard input or a pipe, passes.
absl::Status CheckUnchanged(const CountedFile& opened);

/// How the files of a corpus are read, as CorpusCounts keeps it: text, or rows by which members.
std::string ReadAs(const TextCorpus& corpus, bool is_jsonl, const DocumentFields& fields);

/// FailedPrecondition: counts go on with no texts but those that were counted. It names the file of
/// counts, the problem and what to do.
absl::Status RefuseTexts(const std::string& counts_path, const std::string& problem);

/// Whether `counts`, which the file `counts_path` holds, go on with `corpus`, read as `read_as`,
/// and are of its files as these are now. FailedPrecondition names what was counted, what is there
/// now and what to do: other texts or another weight, other members of rows, a file that has
/// changed, standard input or a pipe, which comes but once. Says on stderr what is not read again,
/// and whether an older file of counts cannot tell that it changed. Of a file that was counted in
/// part the documents are to be compared, as CorpusCounter does: what is behind them may change.
absl::Status CheckCounted(const std::string& counts_path, const TextCorpus& corpus,
                          const std::string& read_as, const CorpusCounts& counts);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_COUNTED_ALREADY_H_
