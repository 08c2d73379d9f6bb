#include "embed/pooler.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "embed/embedding_config.h"
#include "model/checkpoint.h"

namespace shortlist {
namespace {

/// Scales `vector` to length 1; returns false if it is zero. In f64, squares of f32 values neither
/// overflow nor underflow.
bool Normalize(std::span<float> vector) {
  double squares = 0.0;
  for (const float value : vector) squares += static_cast<double>(value) * value;
  if (squares == 0.0) return false;
  const double length = std::sqrt(squares);
  for (float& value : vector) value = static_cast<float>(value / length);
  return true;
}

}  // namespace

absl::StatusOr<Pooler> Pooler::Create(Options options) {
  SHORTLIST_CHECK(options.hidden >= 1);
  int64_t width = options.hidden;
  for (size_t i = 0; i < options.layers.size(); ++i) {
    const DenseShape& shape = options.layers[i].shape();
    if (shape.in_features != width) {
      return absl::InvalidArgumentError(absl::StrCat("dense layer ", i, " takes ",
                                                     shape.in_features, " features, not the ",
                                                     width, " that it gets"));
    }
    width = shape.out_features;
  }
  return Pooler(std::move(options));
}

absl::StatusOr<Pooler> Pooler::Load(const EmbeddingConfig& config, ThreadPool& pool) {
  Options options = {.pooling = config.pooling,
                     .hidden = config.hidden,
                     .include_prompt = config.include_prompt,
                     .normalize = config.normalize};
  for (const DenseModule& module : config.dense) {
    SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc(module.source.path(), [&]() -> absl::Status {
      SHORTLIST_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(module.source, {}));
      SHORTLIST_ASSIGN_OR_RETURN(DenseLayer layer,
                                 DenseLayer::Load(checkpoint, "linear", module.shape, pool));
      options.layers.push_back(std::move(layer));
      return checkpoint.CheckNothingUnknown();
    }));
  }
  return Create(std::move(options));
}

int64_t Pooler::size() const {
  return options_.layers.empty() ? options_.hidden : options_.layers.back().shape().out_features;
}

SequenceVectors Pooler::Run(const HiddenStates& states, std::span<const VectorRequest> requests,
                            ThreadPool& pool) const {
  const int64_t num_seqs = states.num_seqs();
  SHORTLIST_CHECK(states.hidden == options_.hidden);
  SHORTLIST_CHECK(requests.empty() || std::ssize(requests) == num_seqs);
  const auto request_of = [&](int64_t seq) {
    return requests.empty() ? VectorRequest() : requests[seq];
  };

  std::vector<absl::Status> statuses(num_seqs);
  std::vector<int64_t> num_skipped(num_seqs, 0);
  std::vector<int64_t> begin = {0};
  for (int64_t seq = 0; seq < num_seqs; ++seq) {
    const VectorRequest request = request_of(seq);
    if (request.dimensions < 0 || request.dimensions > size()) {
      statuses[seq] = absl::InvalidArgumentError(absl::StrCat(
          "sequence ", seq, ": dimensions = ", request.dimensions, " not in [1, ", size(), "]"));
    }
    if (!options_.include_prompt) num_skipped[seq] = request.num_prompt_tokens;
    const int64_t kept = request.dimensions == 0 ? size() : request.dimensions;
    begin.push_back(begin.back() + (statuses[seq].ok() ? kept : 0));
  }

  std::vector<float> rows = PoolSequences(states, options_.pooling, num_skipped, statuses, pool);
  for (size_t i = 0; i < options_.layers.size(); ++i) {
    rows = options_.layers[i].Apply(rows, num_seqs, pool);
    RefuseNotFinite(absl::StrCat("what dense layer ", i, " gives").c_str(), rows, statuses);
  }

  std::vector<float> values(begin.back(), 0.0f);
  pool.ParallelFor(num_seqs, /*grain=*/1, [&](int64_t first, int64_t last) {
    for (int64_t seq = first; seq < last; ++seq) {
      if (!statuses[seq].ok()) continue;
      const std::span<float> vector =
          std::span(values).subspan(begin[seq], begin[seq + 1] - begin[seq]);
      std::copy_n(rows.begin() + seq * size(), vector.size(), vector.begin());
      if (request_of(seq).normalize.value_or(options_.normalize) && !Normalize(vector)) {
        statuses[seq] =
            absl::InternalError(absl::StrCat("sequence ", seq, ": its vector of ", vector.size(),
                                             " dimensions is zero, and cannot be normalised"));
      }
    }
  });
  return SequenceVectors(std::move(values), std::move(begin), std::move(statuses));
}

}  // namespace shortlist
