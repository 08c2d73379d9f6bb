#ifndef SHORTLIST_TEXT_TOKENIZER_METASPACE_H_
#define SHORTLIST_TEXT_TOKENIZER_METASPACE_H_

#include <string>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// SentencePiece's spelling of spaces, as tokenizer.json describes it. Used by a pre-tokenizer and
/// a decoder.
struct Metaspace {
  enum class Prepend { kAlways, kFirst, kNever };

  std::string replacement = "\xE2\x96\x81";  // replaces a space: one character, not a space
  Prepend prepend = Prepend::kAlways;        // which pieces get a mark in front if they lack it
  bool split = true;                         // a piece ends before each `replacement`
};

absl::StatusOr<Metaspace> ParseMetaspace(const nlohmann::json& spec);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_METASPACE_H_
