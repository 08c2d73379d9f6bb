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

/// Writes completions in input order, whatever order they run and finish in, and buffers those
/// whose turn has not come. As text, the current completion is streamed token by token, never half
/// a code point. As JSON, each completion is one line, written when it has finished.
class CompletionWriter {
 public:
  enum class Format { kText, kJson };

  /// `requests` gives the number of completions and their prompt lengths. `tokenizer`, `requests`
  /// and `out` must outlive this.
  CompletionWriter(const Tokenizer& tokenizer, std::span<const Session::Request> requests,
                   Format format, std::ostream& out);

  /// Reports that request `index` has emitted `tokens`.
  void OnTokens(size_t index, std::span<const TokenId> tokens);
  /// Reports that request `index` has ended. Call once per request.
  void OnFinish(size_t index, const Completion& completion);

 private:
  struct Entry {
    Detokenizer detokenizer;
    std::string text;        // of the whole output so far
    size_t num_written = 0;  // bytes of `text` already streamed
    bool finished = false;
    std::string json;  // set when finished
  };

  /// Writes everything whose turn has come.
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
