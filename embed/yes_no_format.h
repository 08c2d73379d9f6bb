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

/// A piece of a prompt. Pieces are encoded one by one, and their ids joined; a vocabulary's control
/// tokens are read in templates alone, never in what somebody typed.
struct PromptPiece {
  std::string text;
  bool is_template = false;
  bool operator==(const PromptPiece&) const = default;
};

/// How a decoder is asked whether a document answers a query: the prompt, and the tokens whose
/// logits behind it are the answer (embed/yes_no_head.h). The prompt is prefix, document, suffix;
/// the prefix is the same for all documents of a query, so that a radix cache computes it once. A
/// prompt that is too long loses tokens of the document.
///
///   kQwen3     (Qwen3-Reranker) chat: the system's task; <Instruct>, <Query> and <Document>; the
///              assistant's empty thoughts; answer "yes" or "no".
///   kBgeGemma  (bge-reranker-v2-gemma) BOS, "A: query", "B: document", the instruction; answer
///              "Yes", with nothing to compare it to.
struct YesNoFormat {
  enum class Kind { kQwen3, kBgeGemma };
  Kind kind = Kind::kQwen3;
  std::string separator = "\n";     // kQwen3: between instruction, query and document
  std::string suffix_end = "\n\n";  // kQwen3: behind the empty thoughts
  std::string instruction;          // where none is given; empty: the kind's own

  // From the LogitScore module of a sentence-transformers directory; nullopt: the tokens that
  // yes_token() and no_token() spell.
  std::optional<TokenId> yes_id;
  std::optional<TokenId> no_id;

  std::string_view yes_token() const { return kind == Kind::kQwen3 ? "yes" : "Yes"; }
  /// Empty: the answer is the logit of `yes` alone.
  std::string_view no_token() const { return kind == Kind::kQwen3 ? "no" : ""; }
  /// Whether the tokenizer's BOS goes before the prefix.
  bool begins_with_bos() const { return kind == Kind::kBgeGemma; }

  /// `instruction` empty: the format's own.
  std::vector<PromptPiece> Prefix(std::string_view instruction, std::string_view query) const;
  PromptPiece Document(std::string_view document) const;
  /// kBgeGemma: the instruction stands here.
  std::vector<PromptPiece> Suffix(std::string_view instruction) const;
};

/// The format of the decoder in `source`, which the user calls `model` (a directory, or
/// org/name[@revision]); nullopt where it is no reranker of a kind known here. The first that
/// applies:
///   - its chat template says: answer can only be "yes" or "no"        -> kQwen3, as it says it
///   - Qwen3ForCausalLM, and the name holds "qwen3-reranker"           -> kQwen3
///   - GemmaForCausalLM, and the name holds "bge-reranker"             -> kBgeGemma
/// The name is the last part of the path, links and dots resolved or not, or that of a model in
/// the Hugging Face cache. InvalidArgument for a damaged config.json, chat template, modules.json
/// or LogitScore module; Unimplemented for a template with another task, other parts or another
/// order, and for a LogitScore module that reads pairs in another way.
absl::StatusOr<std::optional<YesNoFormat>> DetectYesNoFormat(const ModelSource& source,
                                                             std::string_view model);

}  // namespace shortlist

#endif  // SHORTLIST_EMBED_YES_NO_FORMAT_H_
