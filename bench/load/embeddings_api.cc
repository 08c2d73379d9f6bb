#include "bench/load/embeddings_api.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

constexpr std::string_view kWords[] = {
    "the",   "of",    "and",    "in",    "to",    "was",    "is",    "for",   "as",      "on",
    "with",  "by",    "he",     "at",    "from",  "his",    "it",    "an",    "were",    "are",
    "which", "this",  "also",   "be",    "has",   "had",    "first", "one",   "their",   "its",
    "after", "new",   "who",    "they",  "two",   "her",    "she",   "been",  "other",   "when",
    "time",  "all",   "during", "there", "into",  "school", "more",  "may",   "years",   "over",
    "only",  "year",  "most",   "would", "world", "city",   "some",  "where", "between", "later",
    "three", "state", "such",   "then"};
constexpr size_t kNumWords = std::size(kWords);
static_assert(kNumWords == 64);  // six random bits choose one

absl::Status ReplyError(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("reply: ", std::string(what)));
}

/// Counts the dimensions of one vector, whose numbers must all be finite.
absl::StatusOr<int64_t> CheckVector(const nlohmann::json& vector, bool is_base64) {
  if (!is_base64) {
    if (!vector.is_array()) return ReplyError("an embedding is not an array");
    for (const nlohmann::json& value : vector) {
      if (!value.is_number()) return ReplyError("an embedding has what is not a number");
      if (!std::isfinite(value.get<float>())) return ReplyError("an embedding is not finite");
    }
    return std::ssize(vector);
  }
  if (!vector.is_string()) return ReplyError("an embedding is not a string of base64");
  std::string bytes;
  if (!absl::Base64Unescape(vector.get_ref<const std::string&>(), &bytes) ||
      bytes.size() % sizeof(float) != 0) {
    return ReplyError("an embedding is not base64 of floats");
  }
  for (size_t i = 0; i < bytes.size(); i += sizeof(float)) {
    float value;
    std::memcpy(&value, &bytes[i], sizeof value);
    if (!std::isfinite(value)) return ReplyError("an embedding is not finite");
  }
  return static_cast<int64_t>(bytes.size() / sizeof(float));
}

/// The integer `object[name]`; nullopt if there is none.
std::optional<int64_t> Integer(const nlohmann::json& object, const char* name) {
  if (!object.is_object()) return std::nullopt;
  const auto field = object.find(name);
  if (field == object.end() || !field->is_number_integer()) return std::nullopt;
  return field->get<int64_t>();
}

}  // namespace

EmbeddingsBodies::EmbeddingsBodies(const EmbeddingsOptions& options, uint64_t seed)
    : options_(options), random_(seed) {}

std::string EmbeddingsBodies::Make(int64_t num_inputs, int64_t num_units) {
  nlohmann::ordered_json fields;
  if (!options_.model.empty()) fields["model"] = options_.model;
  fields["encoding_format"] = options_.is_base64 ? "base64" : "float";
  std::string json = fields.dump();
  json.back() = ',';  // replaces the closing brace
  json += R"("input":[)";
  json.reserve(json.size() + static_cast<size_t>(num_inputs * (num_units * 6 + 4)));
  for (int64_t i = 0; i < num_inputs; ++i) {
    if (i > 0) json += ',';
    AppendInput(num_units, json);
  }
  json += "]}";
  return json;
}

void EmbeddingsBodies::AppendInput(int64_t num_units, std::string& json) {
  const auto least = static_cast<uint64_t>(options_.vocab_size / 20);
  const uint64_t range = static_cast<uint64_t>(options_.vocab_size) - least;
  json += options_.sends_ids ? '[' : '"';
  for (int64_t i = 0; i < num_units; ++i) {
    if (i > 0) json += options_.sends_ids ? ',' : ' ';
    if (options_.sends_ids) {
      absl::StrAppend(&json, least + random_() % range);
    } else {
      json += kWords[random_() % kNumWords];
    }
  }
  json += options_.sends_ids ? ']' : '"';
}

absl::StatusOr<EmbeddingsReply> CheckEmbeddings(std::string_view body, bool is_base64,
                                                int64_t num_inputs, int64_t num_dimensions) {
  const auto reply = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!reply.is_object()) return ReplyError("not a JSON object");
  const auto data = reply.find("data");
  if (data == reply.end() || !data->is_array()) return ReplyError("it has no array 'data'");
  if (std::ssize(*data) != num_inputs) {
    return ReplyError(absl::StrCat(data->size(), " vectors for ", num_inputs, " inputs"));
  }
  for (int64_t i = 0; i < num_inputs; ++i) {
    const nlohmann::json& row = (*data)[static_cast<size_t>(i)];
    const std::optional<int64_t> index = Integer(row, "index");
    if (!index) return ReplyError("a vector has no index");
    if (*index != i) return ReplyError(absl::StrCat("index ", *index, " at place ", i));
    const auto vector = row.find("embedding");
    if (vector == row.end()) return ReplyError("a row has no embedding");
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t size, CheckVector(*vector, is_base64));
    if (size == 0) return ReplyError("an embedding has no dimensions");
    if (num_dimensions == 0) num_dimensions = size;
    if (size != num_dimensions) {
      return ReplyError(absl::StrCat(size, " dimensions instead of ", num_dimensions));
    }
  }
  const auto usage = reply.find("usage");
  return EmbeddingsReply{
      .num_dimensions = num_dimensions,
      .num_tokens = usage == reply.end() ? std::nullopt : Integer(*usage, "prompt_tokens")};
}

int64_t InputTokens::Units(int64_t num_tokens) const {
  const double units = (static_cast<double>(num_tokens) - per_input) / per_unit;
  return std::max<int64_t>(1, std::llround(units));
}

boost::asio::awaitable<absl::StatusOr<InputTokens>> ProbeInputTokens(
    HttpClient& client, const EmbeddingsOptions& options, EmbeddingsBodies& bodies) {
  constexpr int64_t kUnits[] = {1, 17};  // short enough for any model
  InputTokens tokens;
  double counts[2] = {1, 17};
  for (size_t i = 0; i < 2; ++i) {
    const std::string body = bodies.Make(/*num_inputs=*/1, kUnits[i]);
    const HttpReply reply = co_await client.Post("/embeddings", body);
    if (reply.status != 200) {
      co_return absl::UnavailableError(
          absl::StrCat(reply.status == 0 ? "no reply" : absl::StrCat("status ", reply.status), ": ",
                       reply.Message()));
    }
    const absl::StatusOr<EmbeddingsReply> checked =
        CheckEmbeddings(reply.body, options.is_base64, /*num_inputs=*/1, tokens.num_dimensions);
    if (!checked.ok()) co_return checked.status();
    tokens.num_dimensions = checked->num_dimensions;
    if (checked->num_tokens) counts[i] = static_cast<double>(*checked->num_tokens);
  }
  tokens.per_unit = (counts[1] - counts[0]) / static_cast<double>(kUnits[1] - kUnits[0]);
  if (!(tokens.per_unit > 0.0)) {
    co_return absl::UnavailableError(absl::StrCat("usage.prompt_tokens is ", counts[0], " of ",
                                                  kUnits[0], " words and ", counts[1], " of ",
                                                  kUnits[1]));
  }
  tokens.per_input = counts[0] - tokens.per_unit;
  co_return tokens;
}

}  // namespace shortlist
