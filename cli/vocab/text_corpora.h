#ifndef SHORTLIST_CLI_VOCAB_TEXT_CORPORA_H_
#define SHORTLIST_CLI_VOCAB_TEXT_CORPORA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "vocab/counting/documents.h"

namespace CLI {
class App;
}

namespace shortlist {

/// Source of texts, as given by flags.
struct TextFlags {
  std::vector<std::string>
      patterns;  // [WEIGHT@]FILE, in which * ? [ are wildcards; "-": standard input
  DocumentFields fields;
  bool is_jsonl = false;  // for standard input and file names without a known ending
};

/// Adds --text, --text-key, --prompts-key and --jsonl; parsing fills `flags`, which must outlive
/// `command`.
void AddTextFlags(CLI::App& command, TextFlags& flags);

/// A name given by a flag, and its weight.
struct Weighted {
  std::string name;
  double weight = 0.0;  // 0: not given
};

/// Parses [WEIGHT@]NAME. InvalidArgument names `flag`, and a weight that is not positive and finite
/// (NaN included).
absl::StatusOr<Weighted> ParseWeighted(const std::string& flag, const std::string& text);

/// The files of a pattern.
struct TextCorpus {
  std::string name;                // the pattern, without its weight
  double weight = 0.0;             // 0: not given
  std::vector<std::string> files;  // sorted
};

/// Number of rows that lack the members named by the flags.
struct MissingMembers {
  int64_t num_texts = 0, num_prompts = 0;

  void Add(const Documents& documents);
  /// Reports the numbers on stderr, unless all are 0.
  void Note(const char* command, const DocumentFields& fields) const;
};

/// Errors of ParseWeighted, NotFound for a pattern that matches no file, and Unavailable for a
/// folder that cannot be read.
absl::StatusOr<std::vector<TextCorpus>> FindTexts(const TextFlags& flags);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_TEXT_CORPORA_H_
