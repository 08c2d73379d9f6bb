#include "sketch/sketch_basis.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/status_macros.h"
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

using RowsF32 = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Eigen::MatrixXd;

/// Returns a view of the elements of `matrix`, which must outlive it.
Eigen::Map<RowsF32> ViewOf(const Matrix& matrix) {
  return {matrix.floats(), matrix.rows(), matrix.cols()};
}

Matrix MatrixOf(const MatrixXd& from) {
  Matrix matrix(from.rows(), from.cols());
  ViewOf(matrix) = from.cast<float>();
  return matrix;
}

/// Returns rows^T rows, of which only the lower triangle is defined.
Eigen::MatrixXf LowerProducts(const Eigen::Ref<const RowsF32>& rows) {
  Eigen::MatrixXf products = Eigen::MatrixXf::Zero(rows.cols(), rows.cols());
  products.selfadjointView<Eigen::Lower>().rankUpdate(rows.transpose());
  return products;
}

absl::Status CheckStop(const std::atomic<bool>* stop) {
  const bool stops = stop != nullptr && stop->load(std::memory_order_relaxed);
  return stops ? absl::CancelledError("sketch: fitting was stopped") : absl::OkStatus();
}

/// Returns the lower triangle of the covariance of the head's rows, [hidden, hidden].
absl::StatusOr<MatrixXd> RowCovariance(const HeadWeight& head, int64_t num_rows,
                                       const std::atomic<bool>* stop) {
  const int64_t stride = std::max<int64_t>(1, num_rows / kSampledRows);
  const int64_t num_sampled = (num_rows + stride - 1) / stride;
  MatrixXd products = MatrixXd::Zero(head.hidden, head.hidden);
  Eigen::VectorXd sum = Eigen::VectorXd::Zero(head.hidden);
  RowsF32 block(std::min(kBlockRows, num_sampled), head.hidden);
  for (int64_t first = 0; first < num_sampled; first += kBlockRows) {
    SHORTLIST_RETURN_IF_ERROR(CheckStop(stop));
    const int64_t count = std::min(kBlockRows, num_sampled - first);
    for (int64_t i = 0; i < count; ++i) {
      ReadRow(head, (first + i) * stride, block.data() + i * head.hidden);
    }
    const auto rows = block.topRows(count);
    sum += rows.cast<double>().colwise().sum().transpose();
    products += LowerProducts(rows).cast<double>();
  }
  const Eigen::VectorXd mean = sum / static_cast<double>(num_sampled);
  products /= static_cast<double>(num_sampled);
  products.selfadjointView<Eigen::Lower>().rankUpdate(mean, -1.0);
  return products;
}

struct Components {
  Eigen::VectorXd energies;  // [count], falling
  MatrixXd axes;             // [n, count], orthonormal
};

/// Returns the first principal components of L^T C L, by subspace iteration with Rayleigh-Ritz
/// (Rutishauser 1969): few of many components are needed, and approximate ones suffice. Reads the
/// lower triangles of L and C.
absl::StatusOr<Components> FirstComponents(const MatrixXd& l, const MatrixXd& covariance,
                                           int64_t count, const std::atomic<bool>* stop) {
  constexpr int kMostRounds = 64;
  constexpr double kPrecision = 1e-7;  // of the energy in the components
  const int64_t n = l.rows();
  const int64_t width = std::min(n, count + count / 2 + kSketchStep);
  const auto lower = l.triangularView<Eigen::Lower>();
  std::mt19937_64 random(/*seed=*/1);
  std::normal_distribution<double> normal;
  MatrixXd block = MatrixXd::NullaryExpr(n, width, [&] { return normal(random); });
  double held = 0.0;
  for (int round = 0;; ++round) {
    SHORTLIST_RETURN_IF_ERROR(CheckStop(stop));
    const MatrixXd axes =
        Eigen::HouseholderQR<MatrixXd>(block).householderQ() * MatrixXd::Identity(n, width);
    const MatrixXd seen_rows = lower * axes;
    const MatrixXd weighted = covariance.selfadjointView<Eigen::Lower>() * seen_rows;
    block = lower.transpose() * weighted;
    const MatrixXd seen = axes.transpose() * block;
    const Eigen::SelfAdjointEigenSolver<MatrixXd> solver((seen + seen.transpose()) / 2);
    if (solver.info() != Eigen::Success) {
      return absl::InternalError("sketch: no principal components were found");
    }
    const Eigen::VectorXd largest = solver.eigenvalues().tail(count).reverse();  // they rise
    const double held_before = std::exchange(held, largest.sum());
    const bool settled = round > 0 && held - held_before <= kPrecision * held;
    if (settled || width == n || round + 1 == kMostRounds) {
      return Components{largest, axes * solver.eigenvectors().rightCols(count).rowwise().reverse()};
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
  return CatchBadAlloc("moments of hidden states", [&] {
    const auto states = ViewOf(matrix);
    RowsF32 finite(states.rows(), states.cols());
    int64_t num_finite = 0;
    for (int64_t i = 0; i < states.rows(); ++i) {
      if (states.row(i).allFinite()) finite.row(num_finite++) = states.row(i);
    }
    if (num_finite == 0) return absl::OkStatus();
    const Eigen::MatrixXf products = LowerProducts(finite.topRows(num_finite));
    hidden_ = matrix.cols();
    sum_.resize(static_cast<size_t>(hidden_ * hidden_), 0.0);
    Eigen::Map<MatrixXd>(sum_.data(), hidden_, hidden_) +=
        MatrixXd(products.cast<double>().selfadjointView<Eigen::Lower>());
    num_states_ += num_finite;
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
  SHORTLIST_RETURN_IF_ERROR(CatchBadAlloc("sketch", [&]() -> absl::Status {
    MatrixXd mean = MatrixXd::Identity(head.hidden, head.hidden);
    if (moments != nullptr) {
      if (moments->hidden() != head.hidden) {
        return absl::InvalidArgumentError(absl::StrCat(
            "sketch: hidden states of ", moments->hidden(), " for a head of ", head.hidden));
      }
      mean = Eigen::Map<const MatrixXd>(moments->sum().data(), head.hidden, head.hidden) /
             static_cast<double>(moments->num_states());
      mean.diagonal().array() += kLeastMoment * mean.trace() / static_cast<double>(head.hidden);
    }
    if (!mean.allFinite()) {
      return absl::InvalidArgumentError("sketch: the moments of hidden states are not finite");
    }
    SHORTLIST_ASSIGN_OR_RETURN(const MatrixXd covariance, RowCovariance(head, num_rows, stop));
    const double spread = covariance.trace();
    if (!(std::isfinite(spread) && spread > 0 && mean.trace() > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("sketch: rows of spread ", spread, " have no principal components"));
    }
    // With moments L L^T, the error of a projection P of the rows W is |(W - W P) L|: the best one
    // keeps the principal components of W L.
    const Eigen::LLT<MatrixXd> cholesky(mean);
    if (cholesky.info() != Eigen::Success) {
      return absl::InvalidArgumentError(
          "sketch: the moments of hidden states are not positive definite");
    }
    const MatrixXd& lower = cholesky.matrixLLT();  // only its lower triangle is L
    SHORTLIST_ASSIGN_OR_RETURN(const Components components,
                               FirstComponents(lower, covariance, rank, stop));
    // Both sides become integers: each takes half of the variation of a component's logits.
    const Eigen::VectorXd balance =
        components.energies.cwiseMax(components.energies[0] * 1e-9).array().pow(0.25);
    const MatrixXd rows = cholesky.matrixL() * components.axes;
    const MatrixXd states = cholesky.matrixU().solve(components.axes);
    basis.rows = MatrixOf((rows * balance.cwiseInverse().asDiagonal()).transpose());
    basis.states = MatrixOf((states * balance.asDiagonal()).transpose());
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
