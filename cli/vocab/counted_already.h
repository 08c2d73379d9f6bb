#ifndef SHORTLIST_CLI_VOCAB_COUNTED_ALREADY_H_
#define SHORTLIST_CLI_VOCAB_COUNTED_ALREADY_H_

#include <string>

#include "absl/status/status.h"
#include "cli/vocab/text_corpora.h"
#include "vocab/counting/token_counts.h"

namespace shortlist {

/// Returns size and times of `path` now. The size is unknown (negative) if it is no regular file.
CountedFile LookAt(const std::string& path);

/// FailedPrecondition if the file differs from what LookAt found before reading, so that what was
/// read may match neither state. The error names the file, both sizes and times, and the remedy.
/// Files of unknown size (standard input, pipes) pass.
absl::Status CheckUnchanged(const CountedFile& opened);

/// Describes how the files of a corpus are read, as kept in CorpusCounts: as text, or as rows with
/// which members.
std::string ReadAs(const TextCorpus& corpus, bool is_jsonl, const DocumentFields& fields);

/// Returns FailedPrecondition: a run can only continue with the texts that were counted before. The
/// error names the file of counts, the problem and the remedy.
absl::Status RefuseTexts(const std::string& counts_path, const std::string& problem);

/// Checks that `counts`, from the file `counts_path`, can be continued with `corpus`, read as
/// `read_as`, and match its files as they are now. FailedPrecondition names what was counted, what
/// is there now and the remedy. Causes: other texts or another weight, other members of rows, a
/// changed file, and standard input or a pipe, which cannot be read again. Reports on stderr what
/// is not read again, and if a file of counts is too old to detect changes. For a partly counted
/// file the caller compares the documents, as CorpusCounter does: text after them may change.
absl::Status CheckCounted(const std::string& counts_path, const TextCorpus& corpus,
                          const std::string& read_as, const CorpusCounts& counts);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_COUNTED_ALREADY_H_
