#ifndef SHORTLIST_CLI_EMBED_EMBED_H_
#define SHORTLIST_CLI_EMBED_EMBED_H_

#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/embed/bulk_encoder.h"
#include "cli/embed/text_rows.h"

namespace CLI {
class App;
}

namespace shortlist {

struct EmbedFlags {
  EncodingFlags encoding;
  TextInputFlags in;
  std::vector<std::string> texts;  // replaces `in` if not empty
  std::string out_path;            // .npy or .jsonl; empty: .jsonl to standard output
  int64_t dimensions = 0;          // 0: all
  bool sparse = false;             // sparse vectors in place of dense ones
  int64_t sparse_top_n = 0;        // number of largest weights to keep; 0: all
  std::string prompt_name;         // at most one of prompt_name and instruction is given
  std::optional<std::string> instruction;
};

/// Adds the flags of `embed` to `command`; parsing fills `flags`, which must outlive it.
void AddEmbedFlags(CLI::App& command, EmbedFlags& flags);

/// Writes a vector for each text to the file or to `out`. Time and number of truncated texts go to
/// stderr. `in` is read if neither path nor text is given. Errors are those of BulkEncoder::Open,
/// ReadTextRows and EmbedToFile. InvalidArgument for an unknown prompt name (lists the known ones)
/// and for more dimensions than the model has.
absl::Status Embed(const EmbedFlags& flags, std::istream& in, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_EMBED_H_
