#ifndef SHORTLIST_CLI_VOCAB_ENCODED_TEXTS_H_
#define SHORTLIST_CLI_VOCAB_ENCODED_TEXTS_H_

#include <cstdint>
#include <functional>
#include <istream>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "cli/vocab/text_corpora.h"
#include "vocab/counting/token_counts.h"

namespace shortlist {

/// One text as token ids.
struct EncodedText {
  std::string corpus, category;  // names; `category` may be empty
  std::span<const TokenId> prompt, output;
};

/// Where texts are read from, and with what they are encoded. All must outlive the call.
struct TextReading {
  const char* command;  // the subcommand, for messages
  const TextFlags& flags;
  const std::vector<TextCorpus>& corpora;
  const EncodeText& encode;
  int64_t vocab_size;
  ThreadPool& pool;
};

/// InvalidArgument if a text has a weight, which would have no effect, or is given twice.
absl::Status CheckTexts(const std::vector<TextCorpus>& corpora);

/// Encodes all texts on the threads of the pool and calls `visit` for each, in order, on the
/// caller's thread; an error of it ends the reading. Progress goes to stderr. InvalidArgument names
/// a corpus without a token; FailedPrecondition a file that changes while it is read. Errors of
/// CorpusFile and TokensOf.
absl::Status ForEachText(const TextReading& reading, std::istream& in,
                         const std::function<absl::Status(const EncodedText&)>& visit);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_ENCODED_TEXTS_H_
