#ifndef SHORTLIST_TEXT_TOKENIZER_METASPACE_H_
#define SHORTLIST_TEXT_TOKENIZER_METASPACE_H_

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// SentencePiece's way to write spaces, as tokenizer.json describes it: a pre-tokenizer and a
/// decoder share it.
struct Metaspace {
  enum class Prepend { kAlways, kFirst, kNever };

  std::string replacement = "\xE2\x96\x81";  // what a space becomes: one character, not a space
  Prepend prepend = Prepend::kAlways;        // which pieces get one in front, unless they have it
  bool split = true;                         // pieces end before each
};

absl::StatusOr<Metaspace> ParseMetaspace(const nlohmann::json& spec);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_METASPACE_H_
