#ifndef SHORTLIST_TEXT_TOKENIZER_SEQUENCE_TEMPLATE_H_
#define SHORTLIST_TEXT_TOKENIZER_SEQUENCE_TEMPLATE_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "nlohmann/json_fwd.hpp"

namespace shortlist {

/// The tokens that a tokenizer adds around one text, and around a pair of texts.
struct SequenceTemplate {
  struct Part {
    enum class Kind { kFirst, kSecond, kToken } kind;
    TokenId token;    // for kToken
    int32_t type_id;  // of all tokens of the part
  };
  static constexpr Part First(int32_t type_id = 0) { return {Part::Kind::kFirst, {}, type_id}; }
  static constexpr Part Second(int32_t type_id = 1) { return {Part::Kind::kSecond, {}, type_id}; }
  static constexpr Part Token(TokenId id, int32_t type_id = 0) {
    return {Part::Kind::kToken, id, type_id};
  }

  std::vector<Part> single = {First()};
  std::vector<Part> pair = {First(), Second()};
};

/// Returns a template with `before` and `after` around each text, as Llama's tokenizers add BOS
/// and EOS.
SequenceTemplate WithEnds(const std::vector<TokenId>& before, const std::vector<TokenId>& after);

/// Parses the member "post_processor" of a tokenizer.json, which may be null; its token ids are in
/// [0, vocab_size). InvalidArgument names an unknown type, or the member that is wrong.
absl::StatusOr<SequenceTemplate> ParseSequenceTemplate(const nlohmann::json& spec,
                                                       int32_t vocab_size);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_SEQUENCE_TEMPLATE_H_
