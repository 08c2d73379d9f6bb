#ifndef SHORTLIST_TEXT_TOKENIZER_TOKENIZER_CLASS_H_
#define SHORTLIST_TEXT_TOKENIZER_TOKENIZER_CLASS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/words/json_model.h"

namespace shortlist {

/// The tokens that a class adds around one text and around a pair of texts.
struct ClassTemplate {
  struct Part {
    std::string_view name;  // "A", "B", or a member of tokenizer_config.json such as "cls_token"
    int type_id = 0;
    /// The id if the member is null; nullopt: without the token, the template is not used.
    std::optional<int32_t> id_if_null = std::nullopt;
    bool is_optional = false;  // the part is left out if the member is null
  };
  std::vector<Part> single;
  std::vector<Part> pair;
};

/// The member that lists further special tokens.
inline constexpr std::string_view kAdditionalTokens = "additional_special_tokens";

/// The parts of a tokenizer.json that a tokenizer class may replace.
struct ClassParts {
  nlohmann::json normalizer;     // as tokenizer.json spells it; null: none
  nlohmann::json pre_tokenizer;  // as tokenizer.json spells it; null: none
  nlohmann::json decoder;        // as tokenizer.json spells it; null: none
  /// Replaces the post-processor; nullopt: that of tokenizer.json is used.
  std::optional<ClassTemplate> sequence_template;
  /// The class decodes the BPE model's end_of_word_suffix to a space.
  bool decodes_word_ends = false;
  /// What the class sets in the model; `unk` is not used.
  ModelSettings model;
  /// The class sets the model's unknown token to its `unk_token`, if the vocabulary has it.
  bool names_unk_of_model = false;
  /// The mask token of the class absorbs the white space before it, if it is no added token.
  bool mask_absorbs_space = false;
  /// Default special tokens of the class, by member name, used for members that
  /// tokenizer_config.json lacks. Several may have the name kAdditionalTokens.
  std::vector<std::pair<std::string_view, std::string_view>> special_tokens;
  /// A class of transformers 5 builds the tokenizer anew: if tokenizer_config.json has
  /// "added_tokens_decoder", the added tokens of tokenizer.json do not count.
  bool is_built = false;
  /// How special tokens are read: see ReadSpecialTokensOfConfig.
  bool as_transformers_4 = false;
  /// The class adds every named special token again, as a special one without lstrip, rstrip and
  /// single_word: the files' flags do not apply to these tokens.
  bool special_tokens_are_plain = false;
  /// As special_tokens_are_plain, but only for the default tokens of the class and for strings in
  /// lists of further tokens.
  bool default_tokens_are_plain = false;
  /// Tokenizer::warnings: the class does not fit this file, or is not built here.
  std::vector<std::string> warnings;
};

/// True if the class that PartsOfClass() applies depends on tokenizer.json.
bool ClassDependsOnDocument(const nlohmann::json& config, const nlohmann::json& model_config);

/// True if the tokenizer class `class_name` gives token types to a pair of texts. An empty name
/// means the usual class of `model_type`. True if both are empty.
bool GivesTokenTypes(std::string_view class_name, std::string_view model_type);

/// True if transformers 4 saved the checkpoint: see PartsOfClass().
bool SavedByTransformers4(const nlohmann::json& config, const nlohmann::json& model_config);

/// Returns the parts that apply after the tokenizer class has been applied, as AutoTokenizer of
/// transformers does.
///
/// `document` is tokenizer.json, `config` is tokenizer_config.json, `model_config` is config.json;
/// the last two may be empty objects. The class is `tokenizer_class` of `config`, then that of
/// `model_config`, then the usual class of its `model_type`.
///
/// transformers 5 builds normalizer, pre-tokenizer and decoder of a known class anew from the
/// options in `config` (do_lower_case, add_prefix_space, legacy and so on). transformers 4 used
/// those of tokenizer.json, changed the flags of a BertNormalizer to do_lower_case, strip_accents
/// and tokenize_chinese_chars, and the flag of a ByteLevel pre-tokenizer to add_prefix_space. A
/// checkpoint was trained with the behaviour of one version, so the version that saved it decides:
///
/// 1. `transformers_version` of `model_config` or `config` below 5: as transformers 4;
/// 2. otherwise, `clean_up_tokenization_spaces` without `backend` in `config`: as transformers 4,
///    which wrote the first from 4.26 on, while transformers 5 writes both;
/// 3. otherwise: as transformers 5.
///
/// Some classes differ for a checkpoint saved by transformers 4. Two follow transformers 5: ALBERT
/// is built anew, and add_prefix_space applies to Qwen 2 although its ByteLevel is inside a
/// Sequence. Five follow the class of transformers 4: Llama, Gemma, Code Llama, Cohere and GPT-NeoX
/// add BOS and EOS around a text as add_bos_token (missing: true, for GPT-NeoX false) and
/// add_eos_token (missing: false) say, regardless of the template of tokenizer.json.
///
/// So a Llama-2 directory (4.31, Prepend and Replace in tokenizer.json) and a SmolLM2 directory
/// (4.42, class GPT2Tokenizer, digits split in tokenizer.json) keep their tokenizer.json.
///
/// The file is used as it is for generic classes (PreTrainedTokenizerFast, TokenizersBackend), for
/// model types whose class transformers 5 does not trust (Mistral, Phi-3, ModernBERT ...), for a
/// Llama class over a byte-level file, and for classes not listed in tokenizer_class.cc. A warning
/// names such a class if transformers 5 builds it anew, and a class whose model is of another kind
/// than that of tokenizer.json, such as WordPiece over BPE.
///
/// InvalidArgument names an option of the wrong type.
absl::StatusOr<ClassParts> PartsOfClass(const nlohmann::json& document,
                                        const nlohmann::json& config,
                                        const nlohmann::json& model_config);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_TOKENIZER_CLASS_H_
