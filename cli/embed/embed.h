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
  std::vector<std::string> texts;  // in place of `in`, where there are any
  std::string out_path;            // .npy or .jsonl; empty: .jsonl to standard output
  int64_t dimensions = 0;          // 0: all
  bool sparse = false;             // sparse vectors in place of dense ones
  int64_t sparse_top_n = 0;        // their largest weights; 0: all
  std::string prompt_name;         // at most one of it and instruction is given
  std::optional<std::string> instruction;
};

/// Adds the flags of `embed` to `command`; parsing fills `flags`, which must outlive it.
void AddEmbedFlags(CLI::App& command, EmbedFlags& flags);

/// A vector for each text, into the file or to `out`. How long it took and how many texts were cut
/// goes to stderr. `in` counts where there is neither path nor text. Errors are those of
/// BulkEncoder::Open, ReadTextRows and EmbedToFile; InvalidArgument for a prompt name that the
/// model does not have (lists those) and more dimensions than it has.
absl::Status Embed(const EmbedFlags& flags, std::istream& in, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_EMBED_H_
