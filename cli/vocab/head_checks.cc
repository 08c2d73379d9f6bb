#include "cli/vocab/head_checks.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"
#include "base/dtype.h"
#include "base/status_macros.h"
#include "io/quote.h"
#include "vocab/vocab_list.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxSampledRows = 2048;

/// Rows of a tensor of weights as numbers. Only for a two-dimensional tensor of F32, F16 or BF16.
class RowReader {
 public:
  RowReader(const WeightFiles& weights, const NamedTensor& tensor)
      : file_(weights.file(tensor.location)), entry_(*tensor.location.entry) {}

  static bool CanRead(const NamedTensor& tensor) {
    const TensorEntry& entry = *tensor.location.entry;
    return entry.shape.size() == 2 && entry.num_bytes > 0 && entry.dtype.has_value() &&
           entry.strides.empty();
  }

  int64_t num_rows() const { return entry_.shape[0]; }
  int64_t width() const { return entry_.shape[1]; }

  absl::Status Read(int64_t row, std::vector<double>& values) {
    bytes_.resize(entry_.num_bytes / num_rows());
    SHORTLIST_RETURN_IF_ERROR(
        file_.Read(entry_, row * std::ssize(bytes_), std::ssize(bytes_), bytes_.data()));
    values.resize(width());
    for (int64_t i = 0; i < width(); ++i) values[i] = LoadAsFloat(bytes_.data(), *entry_.dtype, i);
    return absl::OkStatus();
  }

 private:
  const TensorFile& file_;
  const TensorEntry& entry_;
  std::string bytes_;
};

absl::Status CheckValues(const DraftCheckpoint& draft, Findings& findings) {
  if (!RowReader::CanRead(draft.head)) return absl::OkStatus();
  RowReader reader(draft.weights, draft.head);
  int64_t num_broken = 0, num_zero = 0, first = -1;
  std::vector<double> values;
  for (int64_t row = 0; row < reader.num_rows(); ++row) {
    SHORTLIST_RETURN_IF_ERROR(reader.Read(row, values));
    const bool is_broken =
        !std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
    const bool is_zero = std::ranges::all_of(values, [](double value) { return value == 0.0; });
    num_broken += is_broken ? 1 : 0;
    num_zero += is_zero ? 1 : 0;
    if ((is_broken || is_zero) && first < 0) first = row;
  }
  if (first < 0) return absl::OkStatus();
  findings.faults.push_back(
      {"head-values",
       absl::StrCat("the head has ", Counted(num_broken, "row"), " with NaN or infinity and ",
                    Counted(num_zero, "row"), " of zeros, the first at ", first,
                    ": a training that broke, or a download that was cut off")});
  return absl::OkStatus();
}

/// Differences of two embeddings over sampled rows.
struct Comparison {
  int64_t num_rows = 0, num_different = 0;
  double sum_cosine = 0.0;  // of the different ones

  void Add(const std::vector<double>& own, const std::vector<double>& others) {
    constexpr double kRounding = 0.02;  // between types of weights
    double difference = 0.0, own_norm = 0.0, others_norm = 0.0, product = 0.0;
    for (size_t i = 0; i < own.size(); ++i) {
      difference += (own[i] - others[i]) * (own[i] - others[i]);
      own_norm += own[i] * own[i];
      others_norm += others[i] * others[i];
      product += own[i] * others[i];
    }
    ++num_rows;
    if (difference <= kRounding * kRounding * others_norm) return;
    ++num_different;
    const double norms = std::sqrt(own_norm * others_norm);
    if (norms > 0.0) sum_cosine += product / norms;  // false for NaN
  }
  double mean_cosine() const {
    return num_different == 0 ? 1.0 : sum_cosine / static_cast<double>(num_different);
  }
};

}  // namespace

absl::Status CheckHead(const DraftCheckpoint& draft, int64_t num_mapped, int64_t vocab_size,
                       Findings& findings) {
  const int64_t num_rows = draft.num_head_rows();
  const auto fault = [&findings](const char* code, const std::string& message) {
    findings.faults.push_back({code, message});
  };
  if (draft.d2t.exists()) {
    if (!draft.head.exists() && draft.config.is_object()) {
      fault("head-missing",
            absl::StrCat("d2t has ", num_mapped,
                         " rows, and there is no lm_head.weight: engines leave it random, or take "
                         "the target's. Take the file of the whole draft"));
    } else if (draft.head.exists() && num_rows != num_mapped) {
      fault("head-rows", absl::StrCat("the head has ", num_rows, " rows, d2t ", num_mapped,
                                      ": they are of different trainings"));
    }
  } else if (draft.head.exists() && num_rows < vocab_size - VocabList::kMaxPadding) {
    fault("d2t-missing",
          absl::StrCat("the head has ", num_rows, " rows for a vocabulary of ", vocab_size,
                       ", and there is no d2t: engines read its rows as the first ids"));
  }
  const std::optional<int64_t> stated = draft.draft_vocab_size();
  if (const auto field = draft.config.find("draft_vocab_size");
      field != draft.config.end() && !field->is_null() && !stated.has_value()) {
    fault("draft-vocab-size", absl::StrCat("config.json: draft_vocab_size ", Quote(*field),
                                           " is not a number of rows: engines reject it"));
  }
  const int64_t expected = draft.d2t.exists() ? num_mapped : num_rows;
  if (stated.has_value() && expected > 0 && *stated != expected) {
    fault("draft-vocab-size", absl::StrCat("config.json: draft_vocab_size ", *stated, ", where ",
                                           draft.d2t.exists() ? "d2t" : "the head", " has ",
                                           expected, " rows: engines reject it, or cut it"));
  }
  return draft.head.exists() ? CheckValues(draft, findings) : absl::OkStatus();
}

absl::Status CheckEmbedding(const DraftCheckpoint& draft, const WeightFiles& target,
                            Findings& findings) {
  SHORTLIST_ASSIGN_OR_RETURN(const NamedTensor others, FindTensor(target, {"embed_tokens.weight"}));
  if (!draft.embedding.exists() || !others.exists() || !RowReader::CanRead(draft.embedding) ||
      !RowReader::CanRead(others)) {
    return absl::OkStatus();
  }
  RowReader own(draft.weights, draft.embedding), targets(target, others);
  if (own.width() != targets.width()) return absl::OkStatus();
  if (std::abs(own.num_rows() - targets.num_rows()) > VocabList::kMaxPadding) {
    findings.faults.push_back(
        {"embedding-rows",
         absl::StrCat("the draft's embedding has ", own.num_rows(), " rows, the target's ",
                      targets.num_rows(), ": the draft was trained for another target")});
    return absl::OkStatus();
  }
  const int64_t num_rows = std::min(own.num_rows(), targets.num_rows());
  const int64_t stride = (num_rows + kMaxSampledRows - 1) / kMaxSampledRows;
  Comparison comparison;
  std::vector<double> mine, theirs;
  for (int64_t row = 0; row < num_rows; row += stride) {
    SHORTLIST_RETURN_IF_ERROR(own.Read(row, mine));
    SHORTLIST_RETURN_IF_ERROR(targets.Read(row, theirs));
    comparison.Add(mine, theirs);
  }
  if (comparison.num_different == 0) return absl::OkStatus();
  constexpr double kAlike = 0.9;
  const std::string figures = absl::StrFormat(
      "%d of %d compared rows of the draft's embedding differ from the target's (mean cosine %.3f)",
      comparison.num_different, comparison.num_rows, comparison.mean_cosine());
  // A few rows may be of tokens that were added later.
  if (comparison.mean_cosine() < kAlike && 10 * comparison.num_different > comparison.num_rows) {
    findings.faults.push_back(
        {"embedding-differs",
         figures + ": the draft was trained for another target, or another version of it"});
  } else {
    findings.warnings.push_back(
        {"embedding-trained",
         figures + ": it was trained on. Engines that share the target's embedding (SGLang) draft "
                   "worse than those that keep the draft's"});
  }
  return absl::OkStatus();
}

}  // namespace shortlist
