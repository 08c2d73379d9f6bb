#ifndef SHORTLIST_CLI_COMPLETION_WRITER_H_
#define SHORTLIST_CLI_COMPLETION_WRITER_H_

#include <cstddef>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "base/ids.h"
#include "cli/decode_all.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace shortlist {

/// Writes completions in input order, whatever order they run and end in: what is not yet its turn
/// is held back. As text, the completion whose turn it is streams as its tokens come, never half a
/// code point; as JSON, each is one line, written whole when it has ended.
class CompletionWriter {
 public:
  enum class Format { kText, kJson };

  /// `requests` gives the number of completions and their prompt lengths. All three must outlive
  /// this.
  CompletionWriter(const Tokenizer& tokenizer, std::span<const Session::Request> requests,
                   Format format, std::ostream& out);

  /// Request `index` has emitted `tokens`.
  void OnTokens(size_t index, std::span<const TokenId> tokens);
  /// Request `index` has ended; once for each.
  void OnFinish(size_t index, const Completion& completion);

 private:
  struct Entry {
    Detokenizer detokenizer;
    std::string text;        // of the whole output so far
    size_t num_written = 0;  // bytes of `text` already streamed
    bool finished = false;
    std::string json;  // set when finished
  };

  /// Writes all whose turn it is.
  void Flush();
  void StreamText(Entry& entry);

  std::span<const Session::Request> requests_;
  const Format format_;
  std::ostream& out_;
  std::vector<Entry> entries_;
  size_t turn_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_COMPLETION_WRITER_H_
