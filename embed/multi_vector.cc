#include "embed/multi_vector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "model/checkpoint.h"
#include "model/checkpoint/config_fields.h"

namespace shortlist {
namespace {

constexpr int64_t kVectorsAtOnce = 256;  // of a document

/// Scales `vector` to length 1. In f64, squares of f32 values neither overflow nor underflow.
void Normalize(std::span<float> vector) {
  double squares = 0.0;
  for (const float value : vector) squares += static_cast<double>(value) * value;
  if (squares == 0.0) return;
  const double scale = 1.0 / std::sqrt(squares);
  for (float& value : vector) value = static_cast<float>(value * scale);
}

}  // namespace

absl::StatusOr<MultiVectorHead> MultiVectorHead::Load(const ModelSource& source, int64_t hidden,
                                                      DType dtype, ThreadPool& pool) {
  const std::string path = source.PathOf("colbert_linear.pt");
  std::optional<MultiVectorHead> head;
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc(source.path(), [&]() -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::OpenStateDict(path));
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<int64_t> stored, checkpoint.StoredShape("weight"));
    if (stored.size() != 2 || stored[0] < 1 || stored[0] > kMaxHidden) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": tensor weight is no matrix of 1 to ", kMaxHidden, " rows"));
    }
    const DenseShape shape = {.in_features = hidden, .out_features = stored[0]};
    SHORTLIST_ASSIGN_OR_RETURN(DenseLayer linear,
                               DenseLayer::Load(checkpoint, /*name=*/"", shape, pool, dtype));
    SHORTLIST_RETURN_IF_ERROR(checkpoint.CheckNothingUnknown());
    head = MultiVectorHead(std::move(linear));
    return absl::OkStatus();
  }));
  return *std::move(head);
}

SequenceVectors MultiVectorHead::Run(const HiddenStates& states, ThreadPool& pool) const {
  const int64_t num_seqs = states.num_seqs(), num_tokens = states.seq_begin.back();
  SHORTLIST_CHECK(states.hidden == linear_.shape().in_features);
  std::vector<float> rows = linear_.Apply(
      {states.data, static_cast<size_t>(num_tokens * states.hidden)}, num_tokens, pool);
  std::vector<absl::Status> statuses(num_seqs);
  std::vector<int64_t> begin(num_seqs + 1, 0);
  for (int64_t seq = 0; seq < num_seqs; ++seq) {
    const int64_t count = states.seq_begin[seq + 1] - states.seq_begin[seq] - 1;
    begin[seq + 1] = begin[seq] + std::max<int64_t>(count, 0) * width();
  }
  std::vector<float> values(begin.back());
  pool.ParallelFor(num_seqs, /*grain=*/1, [&](int64_t first, int64_t last) {
    for (int64_t seq = first; seq < last; ++seq) {
      const std::span<float> vectors =
          std::span(values).subspan(begin[seq], begin[seq + 1] - begin[seq]);
      const auto from = rows.begin() + (states.seq_begin[seq] + 1) * width();
      if (!vectors.empty()) std::copy_n(from, vectors.size(), vectors.begin());
      statuses[seq] = CheckStates(states, seq);
      if (statuses[seq].ok() && FindNotFinite(vectors)) {
        statuses[seq] =
            absl::InternalError(absl::StrCat("sequence ", seq, ": a token's vector is not finite"));
      }
      if (!statuses[seq].ok()) continue;
      for (size_t i = 0; i < vectors.size(); i += width()) Normalize(vectors.subspan(i, width()));
    }
  });
  return SequenceVectors(std::move(values), std::move(begin), std::move(statuses));
}

MaxSim::MaxSim(std::span<const float> query, int64_t width, ThreadPool& pool) {
  SHORTLIST_CHECK(!query.empty() && std::ssize(query) % width == 0);
  const MatrixView rows = {query.data(), DType::kF32, std::ssize(query) / width};
  query_ = PackedLinear::Pack({&rows, 1}, width, DType::kF32, pool);
}

absl::StatusOr<float> MaxSim::Score(std::span<const float> document, ThreadPool& pool) const {
  const int64_t width = query_.in_features(), num_query = query_.out_features();
  const int64_t num_vectors = std::ssize(document) / width;
  SHORTLIST_CHECK(std::ssize(document) % width == 0);
  if (num_vectors == 0) return absl::InvalidArgumentError("there is no token with a vector in it");
  std::vector<float> best(num_query, -std::numeric_limits<float>::infinity());
  std::vector<float> products(std::min(num_vectors, kVectorsAtOnce) * num_query);
  for (int64_t first = 0; first < num_vectors; first += kVectorsAtOnce) {
    const int64_t count = std::min(kVectorsAtOnce, num_vectors - first);
    LinearCpu(query_, {.x = document.data() + first * width}, count, products.data(),
              /*accumulate=*/false, pool);
    for (int64_t row = 0; row < count; ++row) {
      for (int64_t i = 0; i < num_query; ++i) {
        best[i] = std::max(best[i], products[row * num_query + i]);
      }
    }
  }
  double sum = 0.0;
  for (const float value : best) sum += value;
  return static_cast<float>(sum / static_cast<double>(num_query));
}

}  // namespace shortlist
