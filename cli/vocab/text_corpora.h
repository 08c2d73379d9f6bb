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

/// Where texts come from, as flags say it.
struct TextFlags {
  std::vector<std::string>
      patterns;  // [WEIGHT@]FILE, in which * ? [ are wildcards; "-": standard input
  DocumentFields fields;
  bool is_jsonl = false;  // of standard input and of names that do not say so
};

/// Adds --text, --text-key, --prompts-key and --jsonl; parsing fills `flags`, which must outlive
/// `command`.
void AddTextFlags(CLI::App& command, TextFlags& flags);

/// What a flag names, and how much it weighs.
struct Weighted {
  std::string name;
  double weight = 0.0;  // 0: none is given
};

/// Parses [WEIGHT@]NAME. InvalidArgument names `flag`, and a weight that is not positive and finite
/// (NaN included).
absl::StatusOr<Weighted> ParseWeighted(const std::string& flag, const std::string& text);

/// The files of a pattern.
struct TextCorpus {
  std::string name;                // the pattern, without its weight
  double weight = 0.0;             // 0: none is given
  std::vector<std::string> files;  // sorted
};

/// Rows of some documents that lacked what the flags name.
struct MissingMembers {
  int64_t num_texts = 0, num_prompts = 0;

  void Add(const Documents& documents);
  /// Says on stderr how many there were, if any.
  void Note(const char* command, const DocumentFields& fields) const;
};

/// Errors of ParseWeighted, and NotFound for a pattern that no file has.
absl::StatusOr<std::vector<TextCorpus>> FindTexts(const TextFlags& flags);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_TEXT_CORPORA_H_
