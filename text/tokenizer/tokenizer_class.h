#ifndef SHORTLIST_TEXT_TOKENIZER_TOKENIZER_CLASS_H_
#define SHORTLIST_TEXT_TOKENIZER_TOKENIZER_CLASS_H_

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

namespace shortlist {

/// What a class puts around one text and around a pair of texts.
struct ClassTemplate {
  struct Part {
    std::string_view name;  // "A", "B", or a member of tokenizer_config.json such as "cls_token"
    int type_id = 0;
  };
  std::vector<Part> single;
  std::vector<Part> pair;
};

/// The member that lists further special tokens.
inline constexpr std::string_view kAdditionalTokens = "additional_special_tokens";

/// The parts of a tokenizer.json that the class of a tokenizer may replace.
struct ClassParts {
  nlohmann::json normalizer;     // as tokenizer.json spells it; null: none
  nlohmann::json pre_tokenizer;  // the same
  nlohmann::json decoder;        // the same
  /// Replaces the post-processor; none: that of tokenizer.json counts.
  std::optional<ClassTemplate> sequence_template;
  /// The class makes its `unk_token` that of the model, where the vocabulary has it.
  bool names_unk_of_model = false;
  /// Special tokens of the class, by member name, where tokenizer_config.json does not name others:
  /// several may have kAdditionalTokens.
  std::vector<std::pair<std::string_view, std::string_view>> special_tokens;
  /// How special tokens are named: ReadSpecialTokensOfConfig.
  bool as_transformers_4 = false;
  /// The class adds every special token that is named once more, as a special one without lstrip,
  /// rstrip and single_word: flags of the files do not count for these tokens.
  bool special_tokens_are_plain = false;
  /// Tokenizer::warnings: the class is not one for this file, or is not built here.
  std::vector<std::string> warnings;
};

/// Whether the class of a tokenizer gives token types to a pair of texts, by its name; where it is
/// empty, the usual class of `model_type`, and where that is empty too, true.
bool GivesTokenTypes(std::string_view class_name, std::string_view model_type);

/// The parts that count after the class of the tokenizer is applied, as AutoTokenizer of
/// transformers applies it.
///
/// `document` is tokenizer.json, `config` is tokenizer_config.json, `model_config` is config.json;
/// the last two may be empty objects. The class is `tokenizer_class` of `config`, then that of
/// `model_config`, then the usual class of its `model_type`.
///
/// transformers 5 builds normalizer, pre-tokenizer and decoder of a known class anew from the
/// options in `config` (do_lower_case, add_prefix_space, legacy and so on). transformers 4 took
/// those of tokenizer.json, changed the flags of a BertNormalizer to do_lower_case, strip_accents
/// and tokenize_chinese_chars, and the flag of a ByteLevel pre-tokenizer to add_prefix_space. A
/// checkpoint was trained with what its version did, so the version that saved it decides:
///
/// 1. `transformers_version` of `model_config` or `config` below 5: as transformers 4;
/// 2. otherwise, `clean_up_tokenization_spaces` without `backend` in `config`: as transformers 4,
///    since that wrote the first from 4.26 on, and transformers 5 writes both;
/// 3. otherwise as transformers 5.
///
/// Some classes go further where a checkpoint is as transformers 4 saved it. As transformers 5 has
/// them: ALBERT is built anew, and add_prefix_space counts for Qwen 2 although its ByteLevel is
/// inside a Sequence. As transformers 4 has them: Llama, Gemma, Code Llama, Cohere and GPT-NeoX put
/// BOS and EOS round a text as add_bos_token (missing: true, of GPT-NeoX false) and add_eos_token
/// (missing: false) say, whatever the template of tokenizer.json.
///
/// So a Llama-2 directory (4.31, Prepend and Replace in tokenizer.json) and a SmolLM2 directory
/// (4.42, class GPT2Tokenizer, digits split in tokenizer.json) keep their tokenizer.json.
///
/// The file counts as it is for generic classes (PreTrainedTokenizerFast, TokenizersBackend), for
/// model types whose class transformers 5 does not trust (Mistral, Phi-3, ModernBERT ...), for a
/// Llama class over a byte-level file, and for classes that are not listed in tokenizer_class.cc;
/// those of them that transformers 5 builds anew are named in a warning. So is a class whose model
/// is of another kind than that of tokenizer.json, such as WordPiece over BPE.
///
/// InvalidArgument names an option of the wrong type.
absl::StatusOr<ClassParts> PartsOfClass(const nlohmann::json& document,
                                        const nlohmann::json& config,
                                        const nlohmann::json& model_config);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_TOKENIZER_CLASS_H_
