#include "head/sketch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "tensor/catch_torch.h"

namespace shortlist {
namespace {

// How far the probes of a basis may be off, as a share of their length: the head's rows in int4 are
// off by a tenth, another head's by more than 1.
constexpr double kMostProbeError = 0.4;

absl::Status CheckProbes(const SketchBasis& basis, const at::Tensor& projected, int64_t num_rows) {
  double error = 0.0, length = 0.0;
  for (size_t i = 0; i < basis.probe_ids.size(); ++i) {
    const int64_t id = basis.probe_ids[i];
    if (id >= num_rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("sketch of another head: it has a row ", id, ", this one ", num_rows));
    }
    for (int64_t k = 0; k < basis.rank(); ++k) {
      const double of_head = projected.data_ptr<float>()[k * num_rows + id];
      const double of_basis = basis.probes.data_ptr<float>()[i * basis.rank() + k];
      error += (of_head - of_basis) * (of_head - of_basis);
      length += of_basis * of_basis;
    }
  }
  if (error <= kMostProbeError * kMostProbeError * length) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("sketch of another head: its rows are off by ",
                                                 std::sqrt(error / length),
                                                 " of their length, more than ", kMostProbeError));
}

constexpr float kMostCode = 7.0f;

absl::Status CheckRows(const at::Tensor& projected) {
  const int64_t num_rows = projected.size(1);
  const float* const values = projected.data_ptr<float>();
  for (int64_t i = 0; i < projected.numel(); ++i) {
    // Centred, a row is at most twice as large, and its scale a seventh of that.
    if (std::abs(values[i]) <= kMaxSketchScale) continue;
    return absl::InvalidArgumentError(absl::StrCat("sketch: row ", i % num_rows,
                                                   " of the head comes to ", values[i],
                                                   ", not within ", kMaxSketchScale));
  }
  return absl::OkStatus();
}

/// The bf16 bits of a scale whose codes reach kMostCode at most, but for rounding.
uint16_t ScaleBits(float largest) { return FloatToBf16(largest / kMostCode); }

}  // namespace

absl::StatusOr<std::shared_ptr<const Sketch>> Sketch::Create(const SketchBasis& basis,
                                                             const HeadWeight& head,
                                                             int64_t num_rows, ThreadPool& pool) {
  if (basis.hidden() != head.hidden) {
    return absl::InvalidArgumentError(absl::StrCat("sketch of another head: of hidden states of ",
                                                   basis.hidden(), ", not ", head.hidden));
  }
  std::shared_ptr<Sketch> sketch(new Sketch());
  SHORTLIST_RETURN_IF_ERROR(CatchTorch("sketch", [&]() -> absl::Status {
    const int64_t rank = basis.rank();
    at::Tensor projected = ProjectRows(head, num_rows, basis.rows, pool);
    SHORTLIST_RETURN_IF_ERROR(CheckProbes(basis, projected, num_rows));
    SHORTLIST_RETURN_IF_ERROR(CheckRows(projected));
    // What all rows have in common moves no row past another.
    projected -= projected.mean(/*dim=*/1, /*keepdim=*/true);

    sketch->rank_ = rank;
    sketch->hidden_ = basis.hidden();
    sketch->num_rows_ = num_rows;
    sketch->states_ = basis.states;
    const int64_t padded = sketch->rows().num_panels() * kSketchPanelRows;
    sketch->codes_ = Arena(padded * rank / 2);
    sketch->scales_ = Arena(padded * static_cast<int64_t>(sizeof(uint16_t)));
    auto* const codes = static_cast<uint8_t*>(sketch->codes_.data());
    auto* const scales = static_cast<uint16_t*>(sketch->scales_.data());
    const float* const values = projected.data_ptr<float>();
    for (int64_t row = 0; row < num_rows; ++row) {
      float largest = 0.0f;
      for (int64_t k = 0; k < rank; ++k) {
        const float value = values[k * num_rows + row];
        largest = std::max(largest, std::abs(value));
      }
      scales[row] = ScaleBits(largest);
      const float scale = Bf16ToFloat(scales[row]);
      uint8_t* const panel = codes + row / kSketchPanelRows * kSketchPanelRows * rank / 2;
      for (int64_t k = 0; k < rank; ++k) {
        const float code = scale > 0.0f ? std::nearbyint(values[k * num_rows + row] / scale) : 0.0f;
        const int stored = static_cast<int>(std::clamp(code, -kMostCode, kMostCode)) + 8;
        const int64_t word = k / kSketchStep * kSketchPanelRows + row % kSketchPanelRows;
        const int shift = k % kSketchStep < 4 ? 0 : 4;
        panel[word * 4 + k % 4] |= static_cast<uint8_t>(stored << shift);  // zeroed before
      }
    }
    return absl::OkStatus();
  }));
  return sketch;
}

SketchRows Sketch::rows() const {
  return {static_cast<const uint8_t*>(codes_.data()), static_cast<const uint16_t*>(scales_.data()),
          num_rows_, rank_};
}

int64_t Sketch::bytes() const {
  return codes_.bytes() + scales_.bytes() + rank_ * hidden_ * static_cast<int64_t>(sizeof(float));
}

SketchChooser::SketchChooser(std::shared_ptr<const Sketch> sketch, int64_t num_chosen,
                             ThreadPool& pool)
    : sketch_(std::move(sketch)),
      num_chosen_(std::min(num_chosen, sketch_->rows().num_rows)),
      pool_(pool) {}

void SketchChooser::Choose(const float* hidden, int64_t num_tokens,
                           std::span<const SketchRace> races) {
  const auto rank = static_cast<size_t>(sketch_->rank());
  const auto size = static_cast<size_t>(num_tokens);
  if (queries_.size() < size * rank) queries_.resize(size * rank);
  if (ids_.size() < size * num_chosen_) ids_.resize(size * num_chosen_);
  HeadArgs args;
  args.weight = sketch_->states();
  args.vocab_size = args.num_rows = sketch_->rank();
  args.hidden = sketch_->hidden();
  args.x = hidden;
  args.num_tokens = num_tokens;
  HeadLogitsCpu(args, queries_.data(), sketch_->rank(), pool_);
  SketchSelectCpu(sketch_->rows(), queries_.data(), races.empty() ? nullptr : races.data(),
                  num_tokens, num_chosen_, ids_.data(), pool_);
}

std::span<const int32_t> SketchChooser::of_token(int64_t m) const {
  return std::span(ids_).subspan(m * num_chosen_, num_chosen_);
}

}  // namespace shortlist
