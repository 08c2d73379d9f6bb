#include "sketch/sketch_basis.h"

#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "device/catch_torch.h"
#include "kernels/quant.h"
#include "kernels/sketch.h"

namespace shortlist {
namespace {

// Number of rows that represent a larger head.
constexpr int64_t kSampledRows = 16384;
// Rows read as f32 at a time.
constexpr int64_t kBlockRows = 1024;
// Directions that hidden states never take count as this share of an average one.
constexpr double kLeastMoment = 1e-4;

void ReadRow(const HeadWeight& head, int64_t row, float* target) {
  const void* const from =
      static_cast<const char*>(head.rows) + row * RowBytes(head.dtype, head.hidden);
  if (IsQuantized(head.dtype)) return DequantizeHeadRow(from, head.dtype, head.hidden, target);
  for (int64_t k = 0; k < head.hidden; ++k) target[k] = LoadAsFloat(from, head.dtype, k);
}

/// Returns a tensor over the elements of `matrix`, which must outlive it.
at::Tensor TensorOf(const Matrix& matrix) {
  return at::from_blob(matrix.floats(), {matrix.rows(), matrix.cols()}, at::kFloat);
}

Matrix MatrixOf(const at::Tensor& tensor) {
  Matrix matrix(tensor.size(0), tensor.size(1));
  TensorOf(matrix).copy_(tensor);
  return matrix;
}

absl::Status CheckStop(const std::atomic<bool>* stop) {
  const bool stops = stop != nullptr && stop->load(std::memory_order_relaxed);
  return stops ? absl::CancelledError("sketch: fitting was stopped") : absl::OkStatus();
}

/// Returns the covariance of the head's rows, [hidden, hidden] f64.
absl::StatusOr<at::Tensor> RowCovariance(const HeadWeight& head, int64_t num_rows,
                                         const std::atomic<bool>* stop) {
  const int64_t stride = std::max<int64_t>(1, num_rows / kSampledRows);
  const int64_t num_sampled = (num_rows + stride - 1) / stride;
  at::Tensor products = at::zeros({head.hidden, head.hidden}, at::kDouble);
  at::Tensor sum = at::zeros({head.hidden}, at::kDouble);
  for (int64_t first = 0; first < num_sampled; first += kBlockRows) {
    SHORTLIST_RETURN_IF_ERROR(CheckStop(stop));
    const int64_t count = std::min(kBlockRows, num_sampled - first);
    at::Tensor rows = at::empty({count, head.hidden}, at::kFloat);
    for (int64_t i = 0; i < count; ++i) {
      ReadRow(head, (first + i) * stride, rows.data_ptr<float>() + i * head.hidden);
    }
    sum += rows.sum(0, /*keepdim=*/false, at::kDouble);
    products += at::mm(rows.t(), rows);
  }
  const at::Tensor mean = sum / static_cast<double>(num_sampled);
  return products / static_cast<double>(num_sampled) - at::outer(mean, mean);
}

struct Components {
  at::Tensor energies;  // [count] f64, falling
  at::Tensor axes;      // [n, count] f64, orthonormal
};

/// Returns the first principal components of L^T C L, by subspace iteration with Rayleigh-Ritz
/// (Rutishauser 1969): few of many components are needed, and approximate ones suffice.
absl::StatusOr<Components> FirstComponents(const at::Tensor& lower, const at::Tensor& covariance,
                                           int64_t count, const std::atomic<bool>* stop) {
  constexpr int kMostRounds = 64;
  constexpr double kPrecision = 1e-7;  // of the energy in the components
  const int64_t n = lower.size(0);
  const int64_t width = std::min(n, count + count / 2 + kSketchStep);
  at::Generator random = at::detail::createCPUGenerator(/*seed=*/1);
  at::Tensor block = at::randn({n, width}, random, at::kDouble);
  double held = 0.0;
  for (int round = 0;; ++round) {
    SHORTLIST_RETURN_IF_ERROR(CheckStop(stop));
    const at::Tensor axes = std::get<0>(at::linalg_qr(block));
    block = at::mm(lower.t(), at::mm(covariance, at::mm(lower, axes)));
    const at::Tensor seen = at::mm(axes.t(), block);
    const auto [energies, turns] = at::linalg_eigh((seen + seen.t()) / 2);  // rising
    const at::Tensor largest = energies.narrow(0, width - count, count).flip(0);
    const double held_before = std::exchange(held, largest.sum().item<double>());
    const bool settled = round > 0 && held - held_before <= kPrecision * held;
    if (settled || width == n || round + 1 == kMostRounds) {
      return Components{largest, at::mm(axes, turns.narrow(1, width - count, count).flip(1))};
    }
  }
}

}  // namespace

int64_t SketchBasis::DefaultRank(int64_t hidden) {
  constexpr int64_t kWide = 768;
  if (hidden >= kWide) {
    return std::min<int64_t>((hidden / 24 + kSketchStep - 1) / kSketchStep * kSketchStep, 64) +
           kSketchFineRank;
  }
  const int64_t eighth = hidden / 8 / kSketchStep * kSketchStep;
  return std::min(
      {std::max(kLeastDefaultRank, eighth), kMaxSketchRank, hidden / kSketchStep * kSketchStep});
}

absl::Status SketchBasis::CheckRank(int64_t rank, int64_t hidden) {
  const int64_t most = std::min(kMaxSketchRank, hidden);
  if (rank >= kSketchStep && rank <= most && rank % kSketchStep == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("sketch: rank ", rank, " is not a multiple of ",
                                                 kSketchStep, " in [", kSketchStep, ", ", most,
                                                 "]"));
}

StateMoments::StateMoments(const Matrix& mean, int64_t num_states)
    : hidden_(mean.cols()),
      num_states_(num_states),
      sum_(mean.floats(), mean.floats() + mean.num_elements()) {
  for (double& value : sum_) value *= static_cast<double>(num_states);
}

absl::Status StateMoments::Add(const Matrix& matrix) {
  SHORTLIST_CHECK(sum_.empty() || matrix.cols() == hidden_);
  return CatchTorch("moments of hidden states", [&] {
    const at::Tensor states = TensorOf(matrix);
    const at::Tensor finite = at::isfinite(states).all(/*dim=*/1).nonzero().squeeze(1);
    if (finite.numel() == 0) return absl::OkStatus();
    const at::Tensor kept =
        finite.numel() == states.size(0) ? states : states.index_select(0, finite);
    const at::Tensor products = at::mm(kept.t(), kept).to(at::kDouble).contiguous();
    hidden_ = matrix.cols();
    sum_.resize(static_cast<size_t>(hidden_ * hidden_), 0.0);
    const double* const values = products.data_ptr<double>();
    for (size_t i = 0; i < sum_.size(); ++i) sum_[i] += values[i];
    num_states_ += kept.size(0);
    return absl::OkStatus();
  });
}

Matrix StateMoments::Mean() const {
  Matrix mean(hidden_, hidden_);
  std::transform(sum_.begin(), sum_.end(), mean.floats(), [this](double value) {
    return static_cast<float>(value / static_cast<double>(num_states_));
  });
  return mean;
}

absl::StatusOr<SketchBasis> SketchBasis::Fit(const HeadWeight& head, int64_t num_rows, int64_t rank,
                                             const StateMoments* moments, ThreadPool& pool,
                                             const std::atomic<bool>* stop) {
  SHORTLIST_RETURN_IF_ERROR(CheckRank(rank, head.hidden));
  if (moments != nullptr && moments->num_states() == 0) {
    return absl::InvalidArgumentError("sketch: no hidden state was met");
  }
  SketchBasis basis;
  basis.num_states = moments != nullptr ? moments->num_states() : 0;
  SHORTLIST_RETURN_IF_ERROR(CatchTorch("sketch", [&]() -> absl::Status {
    at::Tensor mean = at::eye(head.hidden, at::kDouble);
    if (moments != nullptr) {
      if (moments->hidden() != head.hidden) {
        return absl::InvalidArgumentError(absl::StrCat(
            "sketch: hidden states of ", moments->hidden(), " for a head of ", head.hidden));
      }
      mean = at::from_blob(const_cast<double*>(moments->sum().data()), mean.sizes(), at::kDouble) /
             static_cast<double>(moments->num_states());
      const double least = kLeastMoment * mean.trace().item<double>() / head.hidden;
      mean = mean + least * at::eye(head.hidden, at::kDouble);
    }
    SHORTLIST_ASSIGN_OR_RETURN(const at::Tensor covariance, RowCovariance(head, num_rows, stop));
    const double spread = covariance.trace().item<double>();
    if (!(std::isfinite(spread) && spread > 0 && mean.trace().item<double>() > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("sketch: rows of spread ", spread, " have no principal components"));
    }
    // With moments L L^T, the error of a projection P of the rows W is |(W - W P) L|: the best one
    // keeps the principal components of W L.
    const at::Tensor lower = at::linalg_cholesky(mean);
    SHORTLIST_ASSIGN_OR_RETURN(const Components components,
                               FirstComponents(lower, covariance, rank, stop));
    // Both sides become integers: each takes half of the variation of a component's logits.
    const at::Tensor largest = components.energies.narrow(0, 0, 1);
    const at::Tensor balance = at::maximum(components.energies, largest * 1e-9).pow(0.25);
    const at::Tensor inverse = at::linalg_solve_triangular(lower.t(), components.axes,
                                                           /*upper=*/true);
    basis.rows = MatrixOf((at::mm(lower, components.axes) / balance).t());
    basis.states = MatrixOf((inverse * balance).t());
    SHORTLIST_RETURN_IF_ERROR(CheckStop(stop));
    const Matrix projected = ProjectRows(head, num_rows, basis.rows, pool);
    const int64_t num_probes = std::min(kNumProbes, num_rows);
    basis.probes = Matrix(num_probes, rank);
    for (int64_t i = 0; i < num_probes; ++i) {
      const int64_t id = i * num_rows / num_probes;
      basis.probe_ids.push_back(id);
      for (int64_t k = 0; k < rank; ++k) {
        basis.probes.floats()[i * rank + k] = projected.floats()[k * num_rows + id];
      }
    }
    return absl::OkStatus();
  }));
  return basis;
}

Matrix ProjectRows(const HeadWeight& head, int64_t num_rows, const Matrix& basis,
                   ThreadPool& pool) {
  // The head scores the basis as if it were hidden states.
  HeadArgs args;
  args.weight = head.rows;
  args.dtype = head.dtype;
  args.vocab_size = head.vocab_size;
  args.hidden = head.hidden;
  args.x = basis.floats();
  args.num_tokens = basis.rows();
  args.num_rows = num_rows;
  Matrix projected(basis.rows(), num_rows);
  HeadLogitsCpu(args, projected.floats(), num_rows, pool);
  return projected;
}

}  // namespace shortlist
