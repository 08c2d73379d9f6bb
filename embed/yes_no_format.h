#ifndef SHORTLIST_EMBED_YES_NO_FORMAT_H_
#define SHORTLIST_EMBED_YES_NO_FORMAT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "io/model_source.h"

namespace shortlist {

/// A piece of a prompt. Pieces are encoded separately and their ids concatenated. Control tokens
/// are parsed only in templates, never in a user's text.
struct PromptPiece {
  std::string text;
  bool is_template = false;
  bool operator==(const PromptPiece&) const = default;
};

/// How a decoder is asked whether a document answers a query: the prompt, and the tokens whose
/// logits after it are the answer (embed/yes_no_head.h). The prompt is prefix, document, suffix.
/// The prefix is the same for all documents of a query, so that a radix cache computes it once. If
/// a prompt is too long, the document is cut.
///
///   kQwen3     (Qwen3-Reranker) chat: the system's task; <Instruct>, <Query> and <Document>; the
///              assistant's empty thinking block; answer "yes" or "no".
///   kBgeGemma  (bge-reranker-v2-gemma) BOS, "A: query", "B: document", the instruction; answer
///              "Yes" alone, without a token for no.
struct YesNoFormat {
  enum class Kind { kQwen3, kBgeGemma };
  Kind kind = Kind::kQwen3;
  std::string separator = "\n";     // kQwen3: between instruction, query and document
  std::string suffix_end = "\n\n";  // kQwen3: after the empty thinking block
  std::string instruction;          // default instruction; empty: the kind's own

  // From the LogitScore module of a sentence-transformers directory; nullopt: the tokens spelled
  // yes_token() and no_token().
  std::optional<TokenId> yes_id;
  std::optional<TokenId> no_id;

  std::string_view yes_token() const { return kind == Kind::kQwen3 ? "yes" : "Yes"; }
  /// Empty: the answer is the logit of yes_token() alone.
  std::string_view no_token() const { return kind == Kind::kQwen3 ? "no" : ""; }
  /// True if the tokenizer's BOS precedes the prefix.
  bool begins_with_bos() const { return kind == Kind::kBgeGemma; }

  /// `instruction` empty: the format's own is used.
  std::vector<PromptPiece> Prefix(std::string_view instruction, std::string_view query) const;
  PromptPiece Document(std::string_view document) const;
  /// kBgeGemma: contains the instruction.
  std::vector<PromptPiece> Suffix(std::string_view instruction) const;
};

/// Detects the format of the decoder in `source`. `model`: the user's name for it (a directory, or
/// org/name[@revision]). nullopt if it is not a reranker of a known kind. The first rule that
/// applies:
///   - its chat template says: answer can only be "yes" or "no"  -> kQwen3, as it says
///   - Qwen3ForCausalLM, and the name contains "qwen3-reranker"  -> kQwen3
///   - GemmaForCausalLM, and the name contains "bge-reranker"    -> kBgeGemma
/// The name is the last part of the path, with links and dots resolved or not, or that of a model
/// in the Hugging Face cache. Returns InvalidArgument for a damaged config.json, chat template,
/// modules.json or LogitScore module. Returns Unimplemented for a template with another task, other
/// parts or another order, and for a LogitScore module that reads pairs differently.
absl::StatusOr<std::optional<YesNoFormat>> DetectYesNoFormat(const ModelSource& source,
                                                             std::string_view model);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_YES_NO_FORMAT_H_
