#include "serve/embeddings/zero_shot.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/counted.h"
#include "nlohmann/json.hpp"
#include "serve/embeddings/fields.h"

namespace shortlist {
namespace {

constexpr size_t kMaxCandidates = 256;
constexpr size_t kMaxCandidateBytes = 1024;
constexpr size_t kMaxPairs = 1 << 14;  // of texts and candidates

/// Reads "candidate_labels".
std::vector<std::string> ReadCandidates(const char* name, JsonFields& fields) {
  const nlohmann::json* const labels = fields.Find(name);
  if (labels == nullptr || !labels->is_string()) {
    std::vector<std::string> candidates = fields.Strings(name, kMaxCandidates, kMaxCandidateBytes);
    if (std::ranges::find(candidates, "") != candidates.end()) {
      fields.Fail(name, "a label that is empty");
    }
    return candidates;
  }
  std::vector<std::string> candidates;
  for (absl::string_view part : absl::StrSplit(labels->get_ref<const std::string&>(), ',')) {
    part = absl::StripAsciiWhitespace(part);
    if (part.empty()) continue;
    candidates.emplace_back(part);
    if (part.size() > kMaxCandidateBytes) {
      fields.Fail(
          name, absl::StrCat("a label of ", part.size(), " bytes, more than ", kMaxCandidateBytes));
    }
  }
  if (candidates.size() > kMaxCandidates) {
    fields.Fail(name, absl::StrCat(candidates.size(), " entries, more than ", kMaxCandidates));
  }
  return candidates;
}

/// Replaces logits by probabilities that sum to 1.
void Softmax(std::span<double> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (double& logit : logits) sum += logit = std::exp(logit - largest);
  for (double& logit : logits) logit /= sum;
}

}  // namespace

absl::StatusOr<EntailmentLabels> FindEntailment(std::span<const std::string> labels) {
  const auto entails = std::ranges::find_if(
      labels, [](const std::string& label) { return absl::StartsWithIgnoreCase(label, "entail"); });
  if (entails == labels.end() || labels.size() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "its labels are ", absl::StrJoin(labels.first(std::min<size_t>(labels.size(), 8)), ", "),
        ": a natural language inference model is wanted, with a label that begins with \"entail\" "
        "and another one"));
  }
  const auto place = static_cast<size_t>(entails - labels.begin());
  return EntailmentLabels{place, place == 0 ? labels.size() - 1 : 0};
}

std::vector<float> ZeroShotScores(std::span<const std::vector<float>> logits,
                                  const EntailmentLabels& labels, bool multi_label) {
  std::vector<float> scores;
  if (multi_label || logits.size() == 1) {
    for (const std::vector<float>& of_pair : logits) {
      double two[] = {of_pair[labels.contradicts], of_pair[labels.entails]};
      Softmax(two);
      scores.push_back(static_cast<float>(two[1]));
    }
    return scores;
  }
  std::vector<double> entail;
  for (const std::vector<float>& of_pair : logits) entail.push_back(of_pair[labels.entails]);
  Softmax(entail);
  scores.assign(entail.begin(), entail.end());
  return scores;
}

absl::StatusOr<HypothesisTemplate> ParseHypothesisTemplate(std::string_view form) {
  HypothesisTemplate parsed;
  std::string* text = &parsed.before;
  for (size_t i = 0; i < form.size();) {
    const std::string_view rest = form.substr(i);
    const bool is_place = rest.starts_with("{}") || rest.starts_with("{0}");
    if (rest.starts_with("{{") || rest.starts_with("}}")) {
      *text += rest.front();
      i += 2;
    } else if (is_place && text == &parsed.after) {
      return absl::InvalidArgumentError("more than one {} for the label in it");
    } else if (is_place) {
      text = &parsed.after;
      i += rest.find('}') + 1;
    } else if (rest.front() == '{' || rest.front() == '}') {
      return absl::InvalidArgumentError(
          absl::StrCat("a brace at byte ", i, " that is none of {}, {0}, {{ and }}"));
    } else {
      *text += rest.front();
      ++i;
    }
  }
  if (text == &parsed.before) {
    return absl::InvalidArgumentError("there is no {} for the label in it");
  }
  return parsed;
}

ZeroShotAsked ReadZeroShot(JsonFields& fields, const ServedEncoder& encoder, EncodeBatch& batch) {
  constexpr char kLabels[] = "candidate_labels", kTemplate[] = "hypothesis_template";
  ZeroShotAsked asked;
  const auto labels = FindEntailment(encoder.labels);
  if (!labels.ok()) {
    fields.Fail("model", absl::StrCat("`", encoder.name, "`: ", labels.status().message()));
    return asked;
  }
  asked.labels = *labels;
  asked.candidates = ReadCandidates(kLabels, fields);
  if (asked.candidates.empty()) fields.Fail(kLabels, "a list that is empty");
  const auto hypothesis =
      ParseHypothesisTemplate(fields.String(kTemplate, "This example is {}.", kMaxCandidateBytes));
  if (!hypothesis.ok()) fields.Fail(kTemplate, std::string(hypothesis.status().message()));
  asked.multi_label = fields.Bool("multi_label", false);

  EncodeBatch texts;
  ReadEncodeSources(fields, "input", encoder, texts);
  if (!fields.status().ok()) return asked;
  if (texts.inputs.size() * asked.candidates.size() > kMaxPairs) {
    fields.Fail(kLabels, absl::StrCat(Counted(std::ssize(asked.candidates), "label"), " for ",
                                      Counted(std::ssize(texts.inputs), "text"), " are more than ",
                                      kMaxPairs, " pairs"));
    return asked;
  }
  batch.field = texts.field;
  batch.is_list = texts.is_list;
  batch.inputs_per_entry = asked.candidates.size();
  for (EncodeSource& source : texts.inputs) {
    if (!source.ids.empty()) {
      fields.Fail("input", "token ids, where texts are compared to candidate_labels");
      return asked;
    }
    const auto text = std::make_shared<const std::string>(std::move(source.text));
    for (const std::string& candidate : asked.candidates) {
      EncodeSource& pair = batch.inputs.emplace_back();
      pair.first = text;
      pair.text = absl::StrCat(hypothesis->before, candidate, hypothesis->after);
    }
  }
  return asked;
}

}  // namespace shortlist
