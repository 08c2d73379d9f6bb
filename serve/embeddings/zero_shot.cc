#include "serve/embeddings/zero_shot.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "serve/embeddings/fields.h"

namespace shortlist {
namespace {

constexpr size_t kMaxCandidates = 256;
constexpr size_t kMaxCandidateBytes = 1024;
constexpr size_t kMaxPairs = 1 << 14;  // of texts and candidates
constexpr std::string_view kPlace = "{}";

std::optional<size_t> FindLabel(std::span<const std::string> labels, std::string_view begin) {
  for (size_t i = 0; i < labels.size(); ++i) {
    if (absl::AsciiStrToLower(labels[i]).starts_with(begin)) return i;
  }
  return std::nullopt;
}

/// Replaces logits by probabilities that add up to 1.
void Softmax(std::span<double> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (double& logit : logits) sum += logit = std::exp(logit - largest);
  for (double& logit : logits) logit /= sum;
}

}  // namespace

absl::StatusOr<EntailmentLabels> FindEntailment(std::span<const std::string> labels) {
  const std::optional<size_t> entails = FindLabel(labels, "entail");
  if (!entails || labels.size() < 2) {
    return absl::InvalidArgumentError(absl::StrCat(
        "its labels are ", absl::StrJoin(labels.first(std::min<size_t>(labels.size(), 8)), ", "),
        ": a natural language inference model is wanted, with a label that begins with \"entail\" "
        "and another one"));
  }
  const std::optional<size_t> contradicts = FindLabel(labels, "contradict");
  return EntailmentLabels{*entails, contradicts.value_or(*entails == 0 ? labels.size() - 1 : 0)};
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

ZeroShotAsked ReadZeroShot(JsonFields& fields, const ServedEncoder& encoder, EncodeBatch& batch) {
  constexpr char kLabels[] = "candidate_labels", kTemplate[] = "hypothesis_template";
  ZeroShotAsked asked;
  const auto labels = FindEntailment(encoder.labels);
  if (!labels.ok()) {
    fields.Fail("model", absl::StrCat("`", encoder.name, "`: ", labels.status().message()));
    return asked;
  }
  asked.labels = *labels;
  asked.candidates = fields.Strings(kLabels, kMaxCandidates, kMaxCandidateBytes);
  if (asked.candidates.empty()) fields.Fail(kLabels, "a list that is empty");
  for (const std::string& candidate : asked.candidates) {
    if (candidate.empty()) fields.Fail(kLabels, "a label that is empty");
  }
  const std::string form = fields.String(kTemplate, "This example is {}.", kMaxCandidateBytes);
  const size_t place = form.find(kPlace);
  if (place == std::string::npos) fields.Fail(kTemplate, "there is no {} for the label in it");
  asked.multi_label = fields.Bool("multi_label", false);

  EncodeBatch texts;
  ReadEncodeSources(fields, "input", encoder, texts);
  if (!fields.status().ok()) return asked;
  if (texts.inputs.size() * asked.candidates.size() > kMaxPairs) {
    fields.Fail(kLabels, absl::StrCat(asked.candidates.size(), " labels for ", texts.inputs.size(),
                                      " texts are more than ", kMaxPairs, " pairs"));
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
      pair.text =
          absl::StrCat(form.substr(0, place), candidate, form.substr(place + kPlace.size()));
    }
  }
  return asked;
}

}  // namespace shortlist
