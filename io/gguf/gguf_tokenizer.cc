#include "io/gguf/gguf_tokenizer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "io/gguf/piece_merges.h"
#include "io/gguf/pre_tokenizer.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

// Values of tokenizer.ggml.token_type.
constexpr int64_t kNormal = 1;
constexpr int64_t kUnknown = 2;
constexpr int64_t kControl = 3;
constexpr int64_t kUserDefined = 4;
constexpr int64_t kUnused = 5;
constexpr int64_t kFirstType = 1, kLastType = 6;

// Tokens that end a text in addition to the metadata's eos, eot and eom, if they are control tokens
// (llama.cpp's rule).
constexpr const char* kEndTokens[] = {"<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|end|>",
                                      "<end_of_turn>"};

constexpr char kSpaceMark[] = "\xE2\x96\x81";  // U+2581

struct Vocabulary {
  const std::vector<std::string>* tokens;
  const std::vector<int64_t>* types;

  int64_t size() const { return std::ssize(*tokens); }
};

absl::StatusOr<Vocabulary> ReadVocabulary(const GgufMetadata& metadata, int64_t num_rows) {
  constexpr char kTokens[] = "tokenizer.ggml.tokens", kTypes[] = "tokenizer.ggml.token_type";
  Vocabulary vocabulary;
  SHORTLIST_ASSIGN_OR_RETURN(vocabulary.tokens, metadata.Strings(kTokens));
  SHORTLIST_ASSIGN_OR_RETURN(vocabulary.types, metadata.Ints(kTypes));
  if (vocabulary.tokens == nullptr) return metadata.Invalid(kTokens, "missing");
  if (vocabulary.types == nullptr) return metadata.Invalid(kTypes, "missing");
  if (vocabulary.tokens->size() != vocabulary.types->size()) {
    return metadata.Invalid(kTypes, absl::StrCat(vocabulary.types->size(), " types for ",
                                                 vocabulary.tokens->size(), " tokens"));
  }
  if (vocabulary.size() > num_rows) {
    return metadata.Invalid(kTokens, absl::StrCat(vocabulary.size(), " tokens for the ", num_rows,
                                                  " rows of token_embd.weight"));
  }
  for (size_t i = 0; i < vocabulary.tokens->size(); ++i) {
    if (FindInvalidUtf8((*vocabulary.tokens)[i])) {
      return metadata.Invalid(kTokens, absl::StrCat("token ", i, " is not UTF-8"));
    }
    const int64_t type = (*vocabulary.types)[i];
    if (type < kFirstType || type > kLastType) {
      return metadata.Invalid(kTypes, absl::StrCat("token ", i, " has type ", type, ", not in [",
                                                   kFirstType, ", ", kLastType, "]"));
    }
  }
  return vocabulary;
}

/// The id at tokenizer.ggml.NAME_token_id.
absl::StatusOr<std::optional<int64_t>> ReadId(const GgufMetadata& metadata, const char* name,
                                              const Vocabulary& vocabulary) {
  return metadata.Int(absl::StrCat("tokenizer.ggml.", name, "_token_id"), 0, vocabulary.size() - 1);
}

json Concatenated(const std::vector<json>& lists) {
  json all = json::array();
  for (const json& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// Adds BOS before, or EOS after, each text; null if neither is added. In a pair, each text has its
/// own if `in_second`, else they enclose both.
absl::StatusOr<json> PostProcessor(const GgufMetadata& metadata, const Vocabulary& vocabulary,
                                   bool adds_bos, bool in_second) {
  const auto text = [](const char* id, int type) {
    return json::array({{{"Sequence", {{"id", id}, {"type_id", type}}}}});
  };
  const json a = text("A", 0), b = text("B", 1);
  json special = json::object();
  // BOS and EOS of the first and of the second text, as lists of one or no element.
  json ends[2][2] = {{json::array(), json::array()}, {json::array(), json::array()}};
  for (const bool is_bos : {true, false}) {
    const char* const name = is_bos ? "bos" : "eos";
    const std::string flag = absl::StrCat("tokenizer.ggml.add_", name, "_token");
    SHORTLIST_ASSIGN_OR_RETURN(const auto given, metadata.Int(flag, 0, 1));
    const bool is_added = given ? *given == 1 : is_bos && adds_bos;
    if (!is_added) continue;
    SHORTLIST_ASSIGN_OR_RETURN(const auto id, ReadId(metadata, name, vocabulary));
    if (!id) return metadata.Invalid(flag, absl::StrCat("there is no ", name, "_token_id"));
    const std::string& token = (*vocabulary.tokens)[static_cast<size_t>(*id)];
    special[token] = {{"id", token}, {"ids", {*id}}, {"tokens", {token}}};
    for (const int type : {0, 1}) {
      ends[type][is_bos ? 0 : 1].push_back({{"SpecialToken", {{"id", token}, {"type_id", type}}}});
    }
  }
  if (special.empty()) return json();
  const auto& [bos, eos] = ends[0];
  const auto& [second_bos, second_eos] = ends[1];
  return json{{"type", "TemplateProcessing"},
              {"single", Concatenated({bos, a, eos})},
              {"pair", in_second ? Concatenated({bos, a, eos, second_bos, b, second_eos})
                                 : Concatenated({bos, a, b, eos})},
              {"special_tokens", std::move(special)}};
}

/// What differs between the kinds of models that tokenizer.ggml.model names.
struct TokenizerParts {
  json normalizer, pre_tokenizer, post_processor, decoder;
  json bpe;  // without vocab
};

absl::Status Unsupported(const GgufMetadata& metadata, const char* key,
                         const std::optional<std::string>& value, const char* supported) {
  const std::string problem =
      absl::StrCat(value ? Quote(*value) : "none", " is not supported; ", supported);
  return absl::UnimplementedError(std::string(metadata.Invalid(key, problem).message()));
}

absl::StatusOr<TokenizerParts> ByteLevelParts(const GgufMetadata& metadata,
                                              const Vocabulary& vocabulary) {
  constexpr char kPre[] = "tokenizer.ggml.pre", kMerges[] = "tokenizer.ggml.merges";
  SHORTLIST_ASSIGN_OR_RETURN(const auto pre, metadata.String(kPre));
  const std::optional<PreTokenizer> found = pre ? FindPreTokenizer(*pre) : std::nullopt;
  if (!found) {
    return Unsupported(metadata, kPre, pre, "qwen2, llama-bpe, gpt-2 and smollm are");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<std::string>* merges, metadata.Strings(kMerges));
  if (merges == nullptr) return metadata.Invalid(kMerges, "missing");
  std::set<std::string_view> distinct;
  for (const std::string& merge : *merges) {
    if (distinct.insert(merge).second) continue;
    return metadata.Invalid(kMerges, absl::StrCat(Quote(merge), " occurs twice"));
  }
  TokenizerParts parts;
  parts.normalizer = found->normalizer;
  parts.pre_tokenizer = {{"type", "Sequence"}, {"pretokenizers", found->pre_tokenizers}};
  SHORTLIST_ASSIGN_OR_RETURN(
      parts.post_processor,
      PostProcessor(metadata, vocabulary, found->adds_bos, /*in_second=*/false));
  parts.decoder = ByteLevel(false);
  parts.bpe = {{"type", "BPE"},
               {"dropout", json()},
               {"unk_token", json()},
               {"continuing_subword_prefix", ""},
               {"end_of_word_suffix", ""},
               {"fuse_unk", false},
               {"byte_fallback", false},
               {"ignore_merges", found->ignore_merges},
               {"merges", *merges}};
  return parts;
}

/// The merges of a SentencePiece model, whose tokens are `texts`.
absl::StatusOr<std::vector<std::string>> ReadPieceMerges(const GgufMetadata& metadata,
                                                         const Vocabulary& vocabulary,
                                                         const std::vector<std::string>& texts) {
  constexpr char kScores[] = "tokenizer.ggml.scores";
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<double>* scores, metadata.Reals(kScores));
  if (scores == nullptr) return metadata.Invalid(kScores, "missing");
  if (scores->size() != texts.size()) {
    return metadata.Invalid(kScores,
                            absl::StrCat(scores->size(), " scores for ", texts.size(), " tokens"));
  }
  std::vector<ScoredPiece> pieces;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (!std::isfinite((*scores)[i])) {
      return metadata.Invalid(kScores, absl::StrCat("that of token ", i, " is not finite"));
    }
    const int64_t type = (*vocabulary.types)[i];
    // llama.cpp overwrites the score of an added token, which is 0 in SentencePiece's files.
    const double score = type == kUserDefined ? 0.0 : (*scores)[i];
    if (type != kNormal && type != kUserDefined) continue;
    if (texts[i].find(' ') != std::string::npos) continue;  // texts have none after normalization
    pieces.push_back({texts[i], score});
  }
  auto merges = PieceMerges(pieces);
  if (merges.ok()) return merges;
  return metadata.Invalid("tokenizer.ggml.tokens", std::string(merges.status().message()));
}

json ReplaceText(const char* from, const char* to) {
  return {{"type", "Replace"}, {"pattern", {{"String", from}}}, {"content", to}};
}

/// The parts of SentencePiece's BPE as in the tokenizer.json of Gemma or, with a space before a
/// text and after a special token, of Llama 2.
absl::StatusOr<TokenizerParts> PieceParts(const GgufMetadata& metadata,
                                          const Vocabulary& vocabulary,
                                          const std::vector<std::string>& texts) {
  constexpr char kPrefix[] = "tokenizer.ggml.add_space_prefix";
  constexpr char kExtra[] = "tokenizer.ggml.remove_extra_whitespaces";
  SHORTLIST_ASSIGN_OR_RETURN(const auto prefix, metadata.Int(kPrefix, 0, 1));
  SHORTLIST_ASSIGN_OR_RETURN(const auto removes_extra, metadata.Int(kExtra, 0, 1));
  if (removes_extra == 1) return Unsupported(metadata, kExtra, "true", "false is");
  constexpr char kCharsmap[] = "tokenizer.ggml.precompiled_charsmap";
  if (metadata.Contains(kCharsmap)) {
    return Unsupported(metadata, kCharsmap, "a normalizer", "none is");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const auto merges, ReadPieceMerges(metadata, vocabulary, texts));
  SHORTLIST_ASSIGN_OR_RETURN(const auto unk, ReadId(metadata, "unknown", vocabulary));
  TokenizerParts parts;
  json normalizers = json::array();
  json decoders =
      json::array({ReplaceText(kSpaceMark, " "), {{"type", "ByteFallback"}}, {{"type", "Fuse"}}});
  if (prefix.value_or(1) == 1) {
    normalizers.push_back({{"type", "Prepend"}, {"prepend", kSpaceMark}});
    decoders.push_back({{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  }
  normalizers.push_back(ReplaceText(" ", kSpaceMark));
  parts.normalizer = {{"type", "Sequence"}, {"normalizers", std::move(normalizers)}};
  SHORTLIST_ASSIGN_OR_RETURN(
      parts.post_processor,
      PostProcessor(metadata, vocabulary, /*adds_bos=*/true, /*in_second=*/true));
  parts.decoder = {{"type", "Sequence"}, {"decoders", std::move(decoders)}};
  parts.bpe = {{"type", "BPE"},
               {"dropout", json()},
               {"unk_token", unk ? json(texts[static_cast<size_t>(*unk)]) : json()},
               {"continuing_subword_prefix", json()},
               {"end_of_word_suffix", json()},
               {"fuse_unk", true},
               {"byte_fallback", true},
               {"ignore_merges", false},
               {"merges", merges}};
  return parts;
}

/// The tokens as tokenizer.json spells them: llama.cpp writes the spaces of an added token of
/// SentencePiece as such.
std::vector<std::string> PieceTexts(const Vocabulary& vocabulary) {
  std::vector<std::string> texts = *vocabulary.tokens;
  for (size_t i = 0; i < texts.size(); ++i) {
    if ((*vocabulary.types)[i] != kUserDefined) continue;
    texts[i] = absl::StrReplaceAll(texts[i], {{" ", kSpaceMark}});
  }
  return texts;
}

absl::StatusOr<json> TokenizerJson(const GgufMetadata& metadata, const Vocabulary& vocabulary) {
  constexpr char kModel[] = "tokenizer.ggml.model";
  SHORTLIST_ASSIGN_OR_RETURN(const auto model, metadata.String(kModel));
  const bool has_pieces = model && *model == "llama";
  if (!has_pieces && (!model || *model != "gpt2")) {
    return Unsupported(metadata, kModel, model,
                       "\"gpt2\" (byte-level BPE) and \"llama\" (SentencePiece) are");
  }
  const std::vector<std::string> texts = has_pieces ? PieceTexts(vocabulary) : *vocabulary.tokens;
  SHORTLIST_ASSIGN_OR_RETURN(TokenizerParts parts, has_pieces
                                                       ? PieceParts(metadata, vocabulary, texts)
                                                       : ByteLevelParts(metadata, vocabulary));
  json vocab = json::object(), added = json::array();
  for (int64_t id = 0; id < vocabulary.size(); ++id) {
    const std::string& token = texts[static_cast<size_t>(id)];
    const int64_t type = (*vocabulary.types)[static_cast<size_t>(id)];
    if (type == kUnused) continue;  // such tokens fill the rows of a padded embedding
    if (!vocab.emplace(token, id).second) {
      return metadata.Invalid("tokenizer.ggml.tokens",
                              absl::StrCat("token ", id, " ", Quote(token), " occurs twice"));
    }
    const bool is_special = type == kControl || type == kUnknown;
    if (!is_special && type != kUserDefined) continue;
    added.push_back({{"id", id},
                     {"content", token},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", is_special}});
  }
  parts.bpe["vocab"] = std::move(vocab);
  return json{{"version", "1.0"},
              {"truncation", json()},
              {"padding", json()},
              {"added_tokens", std::move(added)},
              {"normalizer", std::move(parts.normalizer)},
              {"pre_tokenizer", std::move(parts.pre_tokenizer)},
              {"post_processor", std::move(parts.post_processor)},
              {"decoder", std::move(parts.decoder)},
              {"model", std::move(parts.bpe)}};
}

/// The template at tokenizer.chat_template, or a list with those of other names; null: none.
absl::StatusOr<json> ChatTemplates(const GgufMetadata& metadata) {
  constexpr char kKey[] = "tokenizer.chat_template";
  SHORTLIST_ASSIGN_OR_RETURN(const auto main, metadata.String(kKey));
  json named = json::array();
  const std::string prefix = absl::StrCat(kKey, ".");
  for (const auto& [key, value] : metadata.values()) {
    if (!key.starts_with(prefix)) continue;
    SHORTLIST_ASSIGN_OR_RETURN(const auto text, metadata.String(key));
    named.push_back({{"name", key.substr(prefix.size())}, {"template", *text}});
  }
  if (named.empty()) return main ? json(*main) : json();
  if (main) named.push_back({{"name", "default"}, {"template", *main}});
  return named;
}

}  // namespace

absl::StatusOr<std::map<std::string, std::string>> GgufTokenizerDocuments(
    const GgufMetadata& metadata, int64_t context_len, int64_t num_rows) {
  SHORTLIST_ASSIGN_OR_RETURN(const Vocabulary vocabulary, ReadVocabulary(metadata, num_rows));
  SHORTLIST_ASSIGN_OR_RETURN(const json tokenizer, TokenizerJson(metadata, vocabulary));
  // Not the class of the original: some classes of transformers 5 replace parts of tokenizer.json.
  json config = {{"tokenizer_class", "PreTrainedTokenizerFast"},
                 {"clean_up_tokenization_spaces", false},
                 {"model_max_length", context_len}};
  json generation = json::object();
  std::vector<int64_t> ends;
  const auto add_end = [&ends](int64_t id) {
    if (std::find(ends.begin(), ends.end(), id) == ends.end()) ends.push_back(id);
  };
  for (const auto& [name, gguf] : {std::pair("bos", "bos"), std::pair("eos", "eos"),
                                   std::pair("pad", "padding"), std::pair("unk", "unknown")}) {
    SHORTLIST_ASSIGN_OR_RETURN(const auto id, ReadId(metadata, gguf, vocabulary));
    if (!id) continue;
    config[absl::StrCat(name, "_token")] = (*vocabulary.tokens)[static_cast<size_t>(*id)];
    if (std::string(name) == "eos") add_end(*id);
    if (std::string(name) == "bos" || std::string(name) == "pad") {
      generation[absl::StrCat(name, "_token_id")] = *id;
    }
  }
  if (ends.empty()) return metadata.Invalid("tokenizer.ggml.eos_token_id", "missing");
  for (const char* name : {"eot", "eom"}) {
    SHORTLIST_ASSIGN_OR_RETURN(const auto id, ReadId(metadata, name, vocabulary));
    if (id) add_end(*id);
  }
  for (int64_t id = 0; id < vocabulary.size(); ++id) {
    if ((*vocabulary.types)[static_cast<size_t>(id)] != kControl) continue;
    for (const char* end : kEndTokens) {
      if ((*vocabulary.tokens)[static_cast<size_t>(id)] == end) add_end(id);
    }
  }
  generation["eos_token_id"] = ends;
  SHORTLIST_ASSIGN_OR_RETURN(json chat_template, ChatTemplates(metadata));
  if (!chat_template.is_null()) config["chat_template"] = std::move(chat_template);
  // Merges and templates that are not UTF-8 match nothing and show as U+FFFD.
  const auto dump = [](const json& document) {
    return document.dump(-1, ' ', false, json::error_handler_t::replace);
  };
  return std::map<std::string, std::string>{{"tokenizer.json", dump(tokenizer)},
                                            {"tokenizer_config.json", dump(config)},
                                            {"generation_config.json", dump(generation)}};
}

}  // namespace shortlist
