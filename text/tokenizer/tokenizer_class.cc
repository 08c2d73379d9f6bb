#include "text/tokenizer/tokenizer_class.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "text/tokenizer/class_builders.h"
#include "text/tokenizer/json_fields.h"

namespace shortlist {
namespace {

using nlohmann::json;

using Builder = absl::StatusOr<ClassParts> (*)(const json& config, ClassParts parts);

/// The kind of model that a class builds.
enum class ModelKind { kWordPiece, kUnigram, kBytes, kMarks };  // the last two: BPE

/// A class of transformers 5 that builds the parts anew.
struct ClassRule {
  std::string_view names;        // of the class, without "Fast", separated by spaces
  std::string_view model_types;  // that have this usual class
  Builder build;
  ModelKind kind;
};

// transformers 5.24: models/*/tokenization_*.py and models/auto/tokenization_auto.py.
constexpr ClassRule kClasses[] = {
    {"BertTokenizer DistilBertTokenizer ElectraTokenizer MobileBertTokenizer ConvBertTokenizer "
     "SqueezeBertTokenizer LayoutLMTokenizer LxmertTokenizer DPRQuestionEncoderTokenizer "
     "DPRContextEncoderTokenizer DPRReaderTokenizer",
     "bert distilbert electra mobilebert convbert squeezebert layoutlm lxmert dpr align blip bros "
     "chinese_clip ernie flava git megatron-bert nezha nomic_bert vilt visual_bert",
     BuildBert, ModelKind::kWordPiece},
    {"FunnelTokenizer", "funnel", BuildFunnel, ModelKind::kWordPiece},
    {"MPNetTokenizer", "mpnet", BuildMpnet, ModelKind::kWordPiece},
    {"GPT2Tokenizer CodeGenTokenizer",
     "gpt2 gpt_neo gptj opt phi codegen dbrx emu3 jais2 starcoder2 blip-2 hyperclovax_vision_v2",
     BuildGpt2, ModelKind::kBytes},
    {"RobertaTokenizer BartTokenizer LongformerTokenizer LEDTokenizer MvpTokenizer",
     "roberta roberta-prelayernorm bart longformer led mvp bridgetower clap data2vec-text ibert "
     "lilt mega mra florence2",
     BuildRoberta, ModelKind::kBytes},
    {"DebertaTokenizer", "deberta", BuildDeberta, ModelKind::kBytes},
    {"GPTNeoXTokenizer", "gpt_neox falcon_mamba mamba mamba2 mpt olmo olmoe rwkv xlstm",
     BuildGptNeox, ModelKind::kBytes},
    {"Qwen2Tokenizer",
     "qwen2 qwen2_moe qwen2_vl qwen2_5_vl qwen2_audio qwen2_5_omni qwen3 qwen3_moe qwen3_next "
     "qwen3_vl qwen3_vl_moe qwen3_omni_moe colqwen2 internvl ovis2",
     BuildQwen2, ModelKind::kBytes},
    {"Qwen3_5Tokenizer", "qwen3_5 qwen3_5_moe qwen3_5_text qwen3_5_moe_text qwen4_exp", BuildQwen35,
     ModelKind::kBytes},
    {"CohereTokenizer", "cohere cohere2 aya_vision", BuildCohere, ModelKind::kBytes},
    {"GemmaTokenizer",
     "gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma shieldgemma2 t5gemma",
     BuildGemma, ModelKind::kMarks},
    {"LlamaTokenizer Phi3Tokenizer", "idefics idefics2", BuildLlama, ModelKind::kMarks},
    {"CodeLlamaTokenizer", "code_llama", BuildCodeLlama, ModelKind::kMarks},
    {"XLMRobertaTokenizer", "xlm-roberta gte jina_embeddings_v3 metaclip_2 trocr xmod",
     BuildXlmRoberta, ModelKind::kUnigram},
    {"CamembertTokenizer", "camembert", BuildCamembert, ModelKind::kUnigram},
    {"T5Tokenizer", "t5 mt5 musicgen musicgen_melody switch_transformers", BuildT5,
     ModelKind::kUnigram},
    {"AlbertTokenizer", "albert yoso", BuildAlbert, ModelKind::kUnigram},
    {"DebertaV2Tokenizer", "deberta-v2", BuildDebertaV2, ModelKind::kUnigram},
    {"XLNetTokenizer", "xlnet", BuildXlnet, ModelKind::kUnigram},
    {"CLIPTokenizer",
     "clip clipseg aimv2 groupvit omdet-turbo oneformer owlv2 owlvit sam3 sam3_video xclip",
     BuildClip, ModelKind::kBytes},
    {"BlenderbotTokenizer", "blenderbot", BuildBlenderbot, ModelKind::kBytes},
    {"BigBirdTokenizer", "big_bird", BuildBigBird, ModelKind::kUnigram},
    {"RemBertTokenizer", "rembert", BuildRemBert, ModelKind::kUnigram},
    {"BarthezTokenizer", "", BuildBarthez, ModelKind::kUnigram},
    {"ReformerTokenizer", "reformer", BuildReformer, ModelKind::kMarks},
};

/// Classes of transformers 5 whose model_input_names hold "token_type_ids".
constexpr std::string_view kTypedClasses =
    "BertTokenizer CanineTokenizer ConvBertTokenizer DPRContextEncoderTokenizer "
    "DPRQuestionEncoderTokenizer DebertaTokenizer ElectraTokenizer FNetTokenizer "
    "DebertaV2Tokenizer LayoutLMTokenizer LayoutLMv2Tokenizer LxmertTokenizer TapasTokenizer "
    "MarkupLMTokenizer MobileBertTokenizer SqueezeBertTokenizer";

/// Model types for which transformers 5 takes tokenizer.json as it is if the named class is not the
/// usual one: their usual class is the generic one.
constexpr std::string_view kGenericModelTypes =
    "aria beam bigbird_pegasus flex_olmo glm glm4 glm4_moe glm4_moe_lite glm4v glm4v_moe glm_image "
    "glmasr got_ocr2 gpt_bigcode granite granitemoe granitemoehybrid granitemoeshared kimi_k25 "
    "kimi_linear kosmos-2 mimo_v2_flash ministral ministral3 mistral mistral3 mixtral "
    "nystromformer olmo2 olmo3 olmo_hybrid pegasus_x persimmon pix2struct pixtral stablelm umt5 "
    "voxtral voxtral_realtime xlm-roberta-xl arctic chatlm ernie4_5 ernie4_5_moe fuyu h2ovl_chat "
    "hyperclovax hyperclovax_vlm internlm2 internlm3 iquestcoder jamba llava llava_next minicpm3 "
    "minicpmv minimax_m2 modernbert modernbert-decoder molmo molmo2 nemotron opencua openvla "
    "paddleocr_vl phi3 phi3_v phimoe smolvlm step3_vl vipllava";

/// Model types whose usual class is used regardless of the named class.
constexpr std::string_view kUsualClassCounts =
    "qwen2 qwen3_5 qwen3_5_moe qwen3_5_moe_text qwen4_exp hyperclovax_vision_v2";

/// The five classes of transformers 4 that build the template anew, from their tokens and
/// add_bos_token and add_eos_token.
struct ClassWithEnds {
  std::string_view name;         // without "Fast"
  std::string_view model_types;  // that have this usual class
  bool adds_bos;                 // puts BOS before a text by default
};

// transformers 4.57: models/*/tokenization_*_fast.py and models/auto/tokenization_auto.py.
constexpr ClassWithEnds kClassesWithEnds[] = {
    {"LlamaTokenizer",
     "arcee aria chameleon colpali deepseek_v2 deepseek_v3 deepseek_vl deepseek_vl_hybrid "
     "diffllama ernie4_5 ernie4_5_moe idefics idefics2 idefics3 jamba janus jetmoe llama llama4 "
     "llama4_text llava llava_next llava_next_video llava_onevision mistral mixtral mllama "
     "paligemma persimmon phi3 phimoe video_llava vipllava voxtral zamba zamba2",
     true},
    {"GemmaTokenizer",
     "gemma gemma2 gemma3 gemma3_text gemma3n gemma3n_text recurrent_gemma shieldgemma2 siglip2 "
     "t5gemma",
     true},
    {"CodeLlamaTokenizer", "code_llama", true},
    {"CohereTokenizer", "aya_vision cohere cohere2", true},
    {"GPTNeoXTokenizer",
     "falcon_mamba gpt_neox mamba mamba2 mpt olmo olmo2 olmoe rwkv stablelm xlstm", false},
};

/// Classes of transformers 4 whose mask token absorbs the white space before it.
constexpr Builder kMaskAbsorbsSpace[] = {
    BuildAlbert, BuildBarthez, BuildBigBird, BuildBlenderbot, BuildCamembert,
    BuildMpnet,  BuildRemBert, BuildRoberta, BuildXlmRoberta, BuildXlnet};

/// Classes that transformers 5 derives from a known one without a constructor: if named, they leave
/// tokenizer.json as it is.
constexpr std::string_view kBareSubclasses =
    "ConvBertTokenizer DPRQuestionEncoderTokenizer DPRContextEncoderTokenizer DPRReaderTokenizer";

/// Further classes that transformers 5 builds anew, but this table does not.
constexpr std::string_view kClassesNotFollowed =
    "EsmcTokenizer HerbertTokenizer LasrTokenizer LayoutLMv2Tokenizer LayoutLMv3Tokenizer "
    "LayoutXLMTokenizer LukeTokenizer MarkupLMTokenizer MBartTokenizer MBart50Tokenizer "
    "MLukeTokenizer NllbTokenizer NougatTokenizer OpenAIGPTTokenizer ParakeetTokenizer "
    "PegasusTokenizer SeamlessM4TTokenizer Siglip2Tokenizer SplinterTokenizer Tipsv2Tokenizer "
    "UdopTokenizer VideoPrismTokenizer WhisperTokenizer XGLMTokenizer";

/// Model types whose usual class is one of them.
constexpr std::string_view kModelTypesNotFollowed =
    "esmc esmfold2 granite_speech5_ctc herbert lasr_ctc lasr_encoder layoutlmv2 layoutlmv3 "
    "layoutxlm luke markuplm mbart mbart50 mluke nemotron3_5_asr nemotron_asr_streaming nllb "
    "nllb-moe nougat omniasr_ctc openai-gpt parakeet_ctc parakeet_rnnt parakeet_tdt pegasus "
    "pp_formulanet seamless_m4t seamless_m4t_v2 siglip2 splinter tipsv2 udop videoprism whisper "
    "xglm";

bool HasWord(std::string_view words, std::string_view word) {
  for (size_t at = words.find(word); !word.empty() && at != std::string_view::npos;
       at = words.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' '))
      return true;
  }
  return false;
}

const ClassRule* FindByName(std::string_view name) {
  const auto* const rule = std::find_if(std::begin(kClasses), std::end(kClasses),
                                        [&](const ClassRule& r) { return HasWord(r.names, name); });
  return rule == std::end(kClasses) ? nullptr : rule;
}

const ClassRule* FindByModelType(std::string_view type) {
  const auto* const rule =
      std::find_if(std::begin(kClasses), std::end(kClasses),
                   [&](const ClassRule& r) { return HasWord(r.model_types, type); });
  return rule == std::end(kClasses) ? nullptr : rule;
}

/// Returns a member's text; empty if it is missing or of another type.
std::string TextOf(const json& object, const char* name) {
  const auto member = object.find(name);
  return member != object.end() && member->is_string() ? member->get<std::string>() : "";
}

json MemberOrNull(const json& object, const char* name) {
  const auto member = object.find(name);
  return member == object.end() ? json() : *member;
}

bool HasByteLevel(const json& spec) {
  if (spec.is_object() && TextOf(spec, "type") == "ByteLevel") return true;
  return spec.is_structured() && std::any_of(spec.begin(), spec.end(), HasByteLevel);
}

/// Returns nullopt if tokenizer.json has no model of a known type.
std::optional<ModelKind> KindOf(const json& document, const ClassParts& parts) {
  const auto model = document.find("model");
  const std::string type =
      model == document.end() || !model->is_object() ? "" : TextOf(*model, "type");
  if (type == "WordPiece") return ModelKind::kWordPiece;
  if (type == "Unigram") return ModelKind::kUnigram;
  if (type != "BPE") return std::nullopt;
  const bool has_bytes = HasByteLevel(parts.normalizer) || HasByteLevel(parts.pre_tokenizer) ||
                         HasByteLevel(parts.decoder);
  return has_bytes ? ModelKind::kBytes : ModelKind::kMarks;
}

const char* NameOf(ModelKind kind) {
  switch (kind) {
    case ModelKind::kWordPiece:
      return "WordPiece";
    case ModelKind::kUnigram:
      return "Unigram";
    case ModelKind::kBytes:
      return "byte-level BPE";
    case ModelKind::kMarks:
      return "BPE with marks for spaces";
  }
  return "";
}

/// Returns the named class without "Fast"; empty if none is named.
std::string ClassName(const json& config, const json& model_config) {
  std::string name = TextOf(config, "tokenizer_class");
  if (name.empty()) name = TextOf(model_config, "tokenizer_class");
  if (name.ends_with("Fast")) name.resize(name.size() - 4);
  return name;
}

/// Returns the rule that applies, or null.
const ClassRule* ChooseRule(const ClassParts& parts, const json& config, const json& model_config) {
  const std::string model_type = TextOf(model_config, "model_type");
  const std::string name = ClassName(config, model_config);
  if (HasWord(kUsualClassCounts, model_type)) return FindByModelType(model_type);
  if (HasWord(kGenericModelTypes, model_type)) return nullptr;
  if (name.empty()) return FindByModelType(model_type);
  if (name == "LlamaTokenizer" &&
      (HasByteLevel(parts.pre_tokenizer) || HasByteLevel(parts.decoder)))
    return nullptr;
  return FindByName(name);
}

/// Leaves the default tokens that the class has in transformers 4 too.
void RemoveTokensOfTransformers5(Builder build, decltype(ClassParts::special_tokens)& tokens) {
  std::string_view added;
  if (build == BuildGemma) added = "mask_token";
  if (build == BuildGptNeox) added = "pad_token";
  if (build == BuildCohere) added = "pad_token cls_token sep_token mask_token";
  std::erase_if(tokens, [&](const auto& token) { return HasWord(added, token.first); });
  if (build != BuildCodeLlama) return;
  for (auto& [name, content] : tokens) {
    if (HasWord("prefix_token middle_token suffix_token eot_token fill_token", name)) {
      name = kAdditionalTokens;
    }
  }
}

/// Sets the template and special tokens of transformers 4's class, if it is in kClassesWithEnds.
absl::Status SetEnds(const json& config, const json& model_config, ClassParts& parts) {
  const std::string name = ClassName(config, model_config);
  const std::string model_type = TextOf(model_config, "model_type");
  const auto* const found = std::find_if(
      std::begin(kClassesWithEnds), std::end(kClassesWithEnds), [&](const ClassWithEnds& row) {
        return name.empty() ? HasWord(row.model_types, model_type) : row.name == name;
      });
  if (found == std::end(kClassesWithEnds)) return absl::OkStatus();
  const auto adds = [&config](const char* member, bool otherwise) -> absl::StatusOr<bool> {
    SHORTLIST_ASSIGN_OR_RETURN(const auto flag, ReadOptionalBool(config, member));
    return flag.value_or(config.contains(member) ? false : otherwise);  // null is false
  };
  SHORTLIST_ASSIGN_OR_RETURN(const bool adds_bos, adds("add_bos_token", found->adds_bos));
  SHORTLIST_ASSIGN_OR_RETURN(const bool adds_eos, adds("add_eos_token", false));
  ClassTemplate ends;
  for (const auto& [text, type_id] : {std::pair("A", 0), std::pair("B", 1)}) {
    if (adds_bos) ends.pair.push_back({"bos_token", type_id});
    ends.pair.push_back({text, type_id});
    if (adds_eos) ends.pair.push_back({"eos_token", type_id});
    if (ends.single.empty()) ends.single = ends.pair;
  }
  parts.sequence_template = std::move(ends);
  if (parts.special_tokens.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(const ClassParts built,
                               FindByName(found->name)->build(config, parts));
    parts.special_tokens = built.special_tokens;
    RemoveTokensOfTransformers5(FindByName(found->name)->build, parts.special_tokens);
  }
  return absl::OkStatus();
}

void SetPrefixSpaceInSequence(bool value, json& pre_tokenizer) {
  if (!pre_tokenizer.is_object()) return;
  const auto steps = pre_tokenizer.find("pretokenizers");
  if (steps == pre_tokenizer.end() || !steps->is_array()) return;
  for (json& step : *steps) {
    if (step.is_object() && TextOf(step, "type") == "ByteLevel") step["add_prefix_space"] = value;
  }
}

/// Returns the parts of tokenizer.json with the flags that transformers 4 changed, and the special
/// tokens of the class.
absl::StatusOr<ClassParts> WithFlags(const ClassRule* rule, const json& config, ClassParts parts) {
  if (rule != nullptr && rule->build == BuildAlbert) return rule->build(config, std::move(parts));
  const bool is_bert = rule != nullptr && (rule->build == BuildBert || rule->build == BuildFunnel ||
                                           rule->build == BuildMpnet);
  if (is_bert && parts.normalizer.is_object() &&
      TextOf(parts.normalizer, "type") == "BertNormalizer") {
    const json splits_chinese = MemberOrNull(parts.normalizer, "handle_chinese_chars");
    SHORTLIST_RETURN_IF_ERROR(SetBertFlags(config, parts.normalizer));
    if (rule->build == BuildMpnet && !splits_chinese.is_null()) {
      parts.normalizer["handle_chinese_chars"] = splits_chinese;
    }
  }
  const bool is_qwen = rule != nullptr && (rule->build == BuildQwen2 || rule->build == BuildQwen35);
  const bool is_byte_level =
      parts.pre_tokenizer.is_object() && TextOf(parts.pre_tokenizer, "type") == "ByteLevel";
  const bool is_cohere = rule != nullptr && rule->build == BuildCohere;
  if (is_qwen || is_cohere || is_byte_level) {
    SHORTLIST_ASSIGN_OR_RETURN(const auto flag, ReadOptionalBool(config, "add_prefix_space"));
    if (flag.has_value() && is_byte_level) parts.pre_tokenizer["add_prefix_space"] = *flag;
    const bool sets_in_sequence = is_qwen || (is_cohere && flag.value_or(false));
    if (flag.has_value() && sets_in_sequence) SetPrefixSpaceInSequence(*flag, parts.pre_tokenizer);
  }
  if (rule != nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(ClassParts built, rule->build(config, parts));
    parts.special_tokens = std::move(built.special_tokens);
    parts.default_tokens_are_plain =
        rule->build == BuildQwen2 || rule->build == BuildBigBird || rule->build == BuildMpnet;
    RemoveTokensOfTransformers5(rule->build, parts.special_tokens);
    parts.mask_absorbs_space =
        std::ranges::find(kMaskAbsorbsSpace, rule->build) != std::end(kMaskAbsorbsSpace);
  }
  return parts;
}

/// Warns if the class that transformers 5 would build does not fit this file, or is not built here.
void WarnOfClass(const ClassRule* rule, const json& document, const json& config,
                 const json& model_config, ClassParts& parts) {
  const std::string name = ClassName(config, model_config);
  const std::string model_type = TextOf(model_config, "model_type");
  const std::string usual = "the class of model_type " + model_type;
  if (rule == nullptr) {
    const bool is_left_out = name.empty() ? HasWord(kModelTypesNotFollowed, model_type)
                                          : HasWord(kClassesNotFollowed, name);
    if (!is_left_out) return;
    parts.warnings.push_back((name.empty() ? usual : "tokenizer_class " + name) +
                             " is built anew by transformers, which is not done here: "
                             "tokenizer.json counts as it is");
    return;
  }
  const std::optional<ModelKind> kind = KindOf(document, parts);
  if (!kind || *kind == rule->kind) return;
  const bool is_named = HasWord(rule->names, name);
  const std::string whose = is_named ? "tokenizer_class " + name : usual;
  parts.warnings.push_back(whose + " is one of " + NameOf(rule->kind) +
                           ", but tokenizer.json holds " + NameOf(*kind) +
                           ": ids may not be those that the model knows; tokenizer_class "
                           "PreTrainedTokenizerFast takes tokenizer.json as it is");
}

}  // namespace

bool ClassDependsOnDocument(const json& config, const json& model_config) {
  return ClassName(config, model_config) == "LlamaTokenizer";
}

bool GivesTokenTypes(std::string_view class_name, std::string_view model_type) {
  if (class_name.ends_with("Fast")) class_name.remove_suffix(4);
  if (!class_name.empty()) return HasWord(kTypedClasses, class_name);
  if (model_type.empty()) return true;
  // If no class is named, the first of the row is used.
  const ClassRule* const rule = FindByModelType(model_type);
  return rule != nullptr && HasWord(kTypedClasses, rule->names.substr(0, rule->names.find(' ')));
}

bool SavedByTransformers4(const json& config, const json& model_config) {
  std::string version = TextOf(model_config, "transformers_version");
  if (version.empty()) version = TextOf(config, "transformers_version");
  int major = 0;
  const auto read = std::from_chars(version.data(), version.data() + version.size(), major);
  if (read.ec == std::errc()) return major < 5;
  return config.contains("clean_up_tokenization_spaces") && !config.contains("backend");
}

absl::StatusOr<ClassParts> PartsOfClass(const json& document, const json& config,
                                        const json& model_config) {
  ClassParts parts;
  parts.normalizer = MemberOrNull(document, "normalizer");
  parts.pre_tokenizer = MemberOrNull(document, "pre_tokenizer");
  parts.decoder = MemberOrNull(document, "decoder");
  parts.as_transformers_4 = SavedByTransformers4(config, model_config);
  const ClassRule* const rule = ChooseRule(parts, config, model_config);
  const bool is_bare = HasWord(kBareSubclasses, ClassName(config, model_config));
  if (parts.as_transformers_4) {
    SHORTLIST_ASSIGN_OR_RETURN(parts, WithFlags(rule, config, std::move(parts)));
    SHORTLIST_RETURN_IF_ERROR(SetEnds(config, model_config, parts));
  } else {
    // A subclass without a constructor only puts its template into the file's tokenizer.
    if (is_bare && rule != nullptr) {
      SHORTLIST_ASSIGN_OR_RETURN(ClassParts built, rule->build(config, parts));
      parts.sequence_template = std::move(built.sequence_template);
      parts.special_tokens = std::move(built.special_tokens);
    }
    const ClassRule* const built = is_bare ? nullptr : rule;
    WarnOfClass(built, document, config, model_config, parts);
    if (built != nullptr) {
      SHORTLIST_ASSIGN_OR_RETURN(parts, built->build(config, std::move(parts)));
      parts.is_built = true;
    }
  }
  // ALBERT's class uses the template of the file if there is one. RemBERT's class replaces a
  // template of the file, and adds none.
  const bool has_template = !MemberOrNull(document, "post_processor").is_null();
  if (rule != nullptr && ((rule->build == BuildAlbert && has_template) ||
                          (rule->build == BuildRemBert && !has_template))) {
    parts.sequence_template.reset();
  }
  return parts;
}

}  // namespace shortlist
