#include "text/tokenizer/words/json_model.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/words/bpe_model.h"
#include "text/tokenizer/words/unigram_model.h"
#include "text/tokenizer/words/word_level_model.h"
#include "text/tokenizer/words/word_piece_model.h"

namespace shortlist {
namespace {

using nlohmann::json;

// Of a WordPiece model that does not say otherwise.
constexpr char kUsualPrefix[] = "##";
constexpr int64_t kUsualWordChars = 100;

/// Parses "vocab": {token: id}.
absl::StatusOr<Vocabulary> ParseVocabulary(const json& spec) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* vocab, FindMember(spec, "vocab"));
  if (vocab == nullptr || !vocab->is_object()) {
    return absl::InvalidArgumentError("\"vocab\" is not an object of tokens and ids");
  }
  Vocabulary::Entries entries;
  entries.reserve(vocab->size());
  for (const auto& [token, id] : vocab->items()) {
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t value, ToInteger(id, "id of " + token.substr(0, 80), 0,
                                                              kMaxVocabularySize - 1));
    entries.emplace_back(token, value);
  }
  return Vocabulary::Create(std::move(entries));
}

/// Parses "a b" or ["a", "b"].
absl::StatusOr<std::pair<std::string, std::string>> ParseMerge(const json& merge, size_t rank) {
  const absl::Status problem = absl::InvalidArgumentError(
      absl::StrCat("merge ", rank, " is not a pair of tokens: ", merge.dump().substr(0, 80)));
  if (merge.is_array()) {
    if (merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string()) return problem;
    return std::pair(merge[0].get<std::string>(), merge[1].get<std::string>());
  }
  if (!merge.is_string()) return problem;
  const std::string& text = merge.get_ref<const std::string&>();
  const size_t space = text.find(' ');
  if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) return problem;
  return std::pair(text.substr(0, space), text.substr(space + 1));
}

/// Returns the id of the token that the member `name` names; nullopt if the member is missing.
absl::StatusOr<std::optional<int32_t>> FindNamed(const json& spec, const char* name,
                                                 const Vocabulary& vocabulary) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* member, FindMember(spec, name));
  if (member == nullptr) return std::nullopt;
  SHORTLIST_ASSIGN_OR_RETURN(const std::string token, ReadString(spec, name));
  const std::optional<int32_t> id = vocabulary.Find(token);
  if (!id.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " \"", token.substr(0, 80), "\" is not in the vocabulary"));
  }
  return id;
}

/// Bounds the size of an affix: each character is looked up with it, so a long one would be slow.
absl::Status CheckAffix(const char* name, const std::string& affix) {
  constexpr size_t kMaxBytes = 256;
  if (affix.size() <= kMaxBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(name, " has ", affix.size(), " bytes, above the bound of ", kMaxBytes));
}

/// Returns the id of `token` in `vocabulary`, or else `otherwise`.
std::optional<int32_t> FindOr(const std::optional<std::string>& token, const Vocabulary& vocabulary,
                              std::optional<int32_t> otherwise) {
  if (!token.has_value()) return otherwise;
  const std::optional<int32_t> id = vocabulary.Find(*token);
  return id.has_value() ? id : otherwise;
}

absl::StatusOr<JsonModel> ParseBpe(const json& spec, bool byte_level,
                                   const ModelSettings& settings) {
  JsonModel result;
  SHORTLIST_ASSIGN_OR_RETURN(Vocabulary vocabulary, ParseVocabulary(spec));
  result.vocabulary = std::make_unique<const Vocabulary>(std::move(vocabulary));
  SHORTLIST_ASSIGN_OR_RETURN(const json* dropout, FindMember(spec, "dropout"));
  if (dropout != nullptr && *dropout != 0) {
    return absl::InvalidArgumentError("\"dropout\", which makes ids random, is not supported");
  }
  BpeModel::Options options{.byte_level = byte_level};
  SHORTLIST_ASSIGN_OR_RETURN(options.ignore_merges, ReadBool(spec, "ignore_merges", false));
  SHORTLIST_ASSIGN_OR_RETURN(options.byte_fallback, ReadBool(spec, "byte_fallback", false));
  SHORTLIST_ASSIGN_OR_RETURN(options.fuse_unk, ReadBool(spec, "fuse_unk", false));
  SHORTLIST_ASSIGN_OR_RETURN(options.unk, FindNamed(spec, "unk_token", *result.vocabulary));
  options.unk = FindOr(settings.unk, *result.vocabulary, options.unk);
  if (!settings.has_unk) options.unk.reset();
  options.byte_fallback = settings.byte_fallback.value_or(options.byte_fallback);
  options.fuse_unk = settings.fuse_unk.value_or(options.fuse_unk);
  options.ignore_merges = settings.ignore_merges.value_or(options.ignore_merges);
  SHORTLIST_ASSIGN_OR_RETURN(options.continuing_subword_prefix,
                             ReadString(spec, "continuing_subword_prefix", ""));
  SHORTLIST_ASSIGN_OR_RETURN(options.end_of_word_suffix, ReadEndOfWordSuffix(spec));
  SHORTLIST_RETURN_IF_ERROR(
      CheckAffix("continuing_subword_prefix", options.continuing_subword_prefix));
  SHORTLIST_RETURN_IF_ERROR(CheckAffix("end_of_word_suffix", options.end_of_word_suffix));

  SHORTLIST_ASSIGN_OR_RETURN(const json* members, ReadArray(spec, "merges"));
  BpeModel::Merges merges;
  merges.reserve(members->size());
  for (const json& member : *members) {
    SHORTLIST_ASSIGN_OR_RETURN(auto merge, ParseMerge(member, merges.size()));
    merges.push_back(std::move(merge));
  }
  SHORTLIST_ASSIGN_OR_RETURN(result.model,
                             BpeModel::Create(*result.vocabulary, merges, std::move(options)));
  return result;
}

/// Returns the id of "unk_token", which is required.
absl::StatusOr<int32_t> FindUnk(const json& spec, const Vocabulary& vocabulary) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::optional<int32_t> unk,
                             FindNamed(spec, "unk_token", vocabulary));
  if (!unk.has_value()) return absl::InvalidArgumentError("no \"unk_token\"");
  return *unk;
}

absl::StatusOr<JsonModel> ParseWordLevel(const json& spec) {
  JsonModel result;
  SHORTLIST_ASSIGN_OR_RETURN(Vocabulary vocabulary, ParseVocabulary(spec));
  result.vocabulary = std::make_unique<const Vocabulary>(std::move(vocabulary));
  SHORTLIST_ASSIGN_OR_RETURN(const int32_t unk, FindUnk(spec, *result.vocabulary));
  result.model = std::make_unique<WordLevelModel>(*result.vocabulary, unk);
  return result;
}

absl::StatusOr<JsonModel> ParseWordPiece(const json& spec, const ModelSettings& settings) {
  JsonModel result;
  SHORTLIST_ASSIGN_OR_RETURN(Vocabulary vocabulary, ParseVocabulary(spec));
  result.vocabulary = std::make_unique<const Vocabulary>(std::move(vocabulary));
  WordPieceModel::Options options;
  SHORTLIST_ASSIGN_OR_RETURN(options.unk, FindUnk(spec, *result.vocabulary));
  options.unk = *FindOr(settings.unk, *result.vocabulary, options.unk);
  SHORTLIST_ASSIGN_OR_RETURN(options.continuing_subword_prefix,
                             ReadString(spec, "continuing_subword_prefix", kUsualPrefix));
  SHORTLIST_ASSIGN_OR_RETURN(options.max_input_chars_per_word,
                             ReadInteger(spec, "max_input_chars_per_word", 0,
                                         std::numeric_limits<int32_t>::max(), kUsualWordChars));
  if (settings.is_usual_word_piece) {
    options.continuing_subword_prefix = kUsualPrefix;
    options.max_input_chars_per_word = kUsualWordChars;
  }
  result.model = std::make_unique<WordPieceModel>(*result.vocabulary, std::move(options));
  return result;
}

/// Parses "vocab": [[token, score], …].
absl::StatusOr<JsonModel> ParseUnigram(const json& spec, const ModelSettings& settings) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* members, ReadArray(spec, "vocab"));
  Vocabulary::Entries entries;
  std::vector<double> scores;
  for (const json& member : *members) {
    if (!member.is_array() || member.size() != 2 || !member[0].is_string() ||
        !member[1].is_number() || !std::isfinite(member[1].get<double>())) {
      return absl::InvalidArgumentError(
          absl::StrCat("vocab[", entries.size(),
                       "] is not a pair of token and score: ", member.dump().substr(0, 80)));
    }
    entries.emplace_back(member[0].get<std::string>(), static_cast<int64_t>(entries.size()));
    scores.push_back(member[1].get<double>());
  }
  const int64_t size = static_cast<int64_t>(entries.size());
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t own_unk,
                             ReadInteger(spec, "unk_id", 0, size - 1, settings.unk_id));
  SHORTLIST_ASSIGN_OR_RETURN(bool byte_fallback, ReadBool(spec, "byte_fallback", false));
  byte_fallback = settings.byte_fallback.value_or(byte_fallback);
  JsonModel result;
  SHORTLIST_ASSIGN_OR_RETURN(Vocabulary vocabulary, Vocabulary::Create(std::move(entries)));
  std::optional<int32_t> named = FindOr(settings.unk, vocabulary, std::nullopt);
  if (named.has_value() && settings.unk_needs_score_0 && scores[static_cast<size_t>(*named)] != 0) {
    named.reset();
  }
  const int32_t unk_id = named.value_or(settings.unk_id.value_or(static_cast<int32_t>(own_unk)));
  if (unk_id >= size) {
    return absl::InvalidArgumentError(absl::StrCat("the tokenizer class takes id ", unk_id,
                                                   " as the unknown token, but the vocabulary has ",
                                                   size, " ids"));
  }
  result.vocabulary = std::make_unique<const Vocabulary>(std::move(vocabulary));
  result.model =
      std::make_unique<UnigramModel>(*result.vocabulary, std::move(scores), unk_id, byte_fallback);
  return result;
}

/// Returns the model's type, inferred from other members if the file is too old to name it.
absl::StatusOr<std::string> TypeOf(const json& spec) {
  SHORTLIST_ASSIGN_OR_RETURN(const json* type, FindMember(spec, "type"));
  if (type != nullptr) return ReadString(spec, "type");
  if (spec.contains("merges")) return std::string("BPE");
  if (spec.contains("unk_id")) return std::string("Unigram");
  if (spec.contains("max_input_chars_per_word")) return std::string("WordPiece");
  return absl::InvalidArgumentError("no \"type\"");
}

absl::StatusOr<JsonModel> Parse(const json& spec, bool byte_level, const ModelSettings& settings) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::string type, TypeOf(spec));
  if (type == "BPE") return ParseBpe(spec, byte_level, settings);
  if (type == "WordPiece") return ParseWordPiece(spec, settings);
  if (type == "Unigram") return ParseUnigram(spec, settings);
  if (type == "WordLevel") return ParseWordLevel(spec);
  return absl::InvalidArgumentError(absl::StrCat("type \"", Excerpt(type), "\" is not supported"));
}

}  // namespace

bool CanTakeBytes(const json& spec) {
  const absl::StatusOr<std::string> type = TypeOf(spec);
  const absl::StatusOr<std::string> prefix = ReadString(spec, "continuing_subword_prefix", "");
  const absl::StatusOr<bool> byte_fallback = ReadBool(spec, "byte_fallback", false);
  return type.ok() && *type == "BPE" && prefix.ok() && prefix->empty() && byte_fallback.ok() &&
         !*byte_fallback;
}

absl::StatusOr<JsonModel> ParseModel(const json& spec, bool byte_level,
                                     const ModelSettings& settings) {
  absl::StatusOr<JsonModel> model = Parse(spec, byte_level, settings);
  if (!model.ok()) return Within("model", model.status());
  model->kind = *TypeOf(spec);
  return model;
}

absl::StatusOr<std::string> ReadEndOfWordSuffix(const json& spec) {
  return ReadString(spec, "end_of_word_suffix", "");
}

}  // namespace shortlist
