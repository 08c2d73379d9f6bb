#ifndef SHORTLIST_TESTS_KERNELS_CUDA_HEAD_FIXTURE_H_
#define SHORTLIST_TESTS_KERNELS_CUDA_HEAD_FIXTURE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/cuda/rows.h"
#include "tests/kernels/cuda_machine.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {

inline constexpr RowFormat kRowFormats[] = {RowFormat::kBf16, RowFormat::kF16,  RowFormat::kFp8,
                                            RowFormat::kInt8, RowFormat::kInt4, RowFormat::kF32};

/// Random rows of a format in a machine's memory, and what they stand for.
struct CudaRows {
  CudaRows(CudaMachine& machine, std::mt19937& rng, RowFormat row_format, int64_t num_rows,
           int64_t row_width)
      : format(row_format),
        layout(RowLayout::Of(format, row_width)),
        values(RandomFloats(rng, num_rows * row_width)),
        factor_values(num_rows, 1.0f),
        bytes(machine, Encode(num_rows)),
        factors(machine, factor_values) {}

  RowFormat format;
  RowLayout layout;
  std::vector<float> values;  // [num_rows, hidden]; encoded by the time `bytes` is
  std::vector<float> factor_values;
  MachineArray<uint8_t> bytes;
  MachineArray<float> factors;

 private:
  std::vector<uint8_t> Encode(int64_t num_rows) {
    const int64_t hidden = layout.hidden;
    std::vector<uint8_t> encoded(num_rows * layout.row_bytes);
    std::vector<uint8_t> head_row(RowBytes(DType::kInt8, hidden));
    for (int64_t r = 0; r < num_rows; ++r) {
      float* row = &values[r * hidden];
      uint8_t* to = &encoded[r * layout.row_bytes];
      if (layout.quantized()) {
        const DType dtype = format == RowFormat::kInt4 ? DType::kInt4 : DType::kInt8;
        QuantizeHeadRow(row, dtype, hidden, head_row.data());
        DequantizeHeadRow(head_row.data(), dtype, hidden, row);
        PackCudaRow(head_row.data(), dtype, hidden, to);
      } else if (format == RowFormat::kFp8) {
        factor_values[r] = QuantizeFp8Row(row, hidden, to);
        for (int64_t k = 0; k < hidden; ++k) row[k] = Fp8ToFloat(to[k]) * factor_values[r];
      } else {
        const DType dtype = format == RowFormat::kF16   ? DType::kF16
                            : format == RowFormat::kF32 ? DType::kF32
                                                        : DType::kBf16;
        for (int64_t k = 0; k < hidden; ++k) {
          StoreFromFloat(to, dtype, k, row[k]);
          row[k] = LoadAsFloat(to, dtype, k);
        }
      }
    }
    return encoded;
  }
};

/// Hidden states in a machine's memory, prepared for a format's rows.
struct CudaStates {
  CudaStates(CudaMachine& machine, RowFormat format, int64_t hidden, const std::vector<float>& x)
      : num_tokens(static_cast<int64_t>(x.size()) / hidden),
        layout(RowLayout::Of(format, hidden)),
        plain(machine, x),
        codes(machine, num_tokens * layout.x_code_bytes),
        scales(machine, num_tokens * layout.x_scale_bytes / 4),
        factors(machine, num_tokens) {
    machine.PrepareStates(format, hidden, plain.data(), view());
  }
  HeadStates view() const { return {codes.data(), scales.data(), factors.data(), num_tokens}; }

  int64_t num_tokens;
  RowLayout layout;
  MachineArray<float> plain;
  MachineArray<uint8_t> codes;
  MachineArray<float> scales;
  MachineArray<float> factors;
};

/// A hidden state as the head reads it against rows of that format.
inline std::vector<double> RoundedState(const float* x, int64_t hidden, RowFormat format) {
  if (format == RowFormat::kInt8) return RoundInputs(x, hidden, DType::kInt8);
  if (format == RowFormat::kInt4) return RoundInputs(x, hidden, DType::kInt4);
  if (format == RowFormat::kBf16) return RoundInputs(x, hidden, DType::kBf16);
  if (format == RowFormat::kF32) return {x, x + hidden};
  float largest = 0;
  for (int64_t k = 0; k < hidden; ++k) largest = std::max(largest, std::abs(x[k]));
  int exponent = 0;
  std::frexp(largest, &exponent);  // largest < 2^exponent, to become 2^15
  std::vector<double> rounded(hidden);
  for (int64_t k = 0; k < hidden; ++k) {
    const float scaled = std::ldexp(x[k], 15 - exponent);
    rounded[k] = std::ldexp(static_cast<double>(F16ToFloat(FloatToF16(scaled))), exponent - 15);
  }
  return rounded;
}

/// The logit of one row, and how far a kernel's may be off: each of `hidden` f32 additions rounds,
/// and the tensor cores may truncate.
inline ExactDot HeadOracle(const std::vector<double>& state, const float* row) {
  double sum = 0, magnitude = 0;
  for (size_t k = 0; k < state.size(); ++k) {
    sum += state[k] * row[k];
    magnitude += std::abs(state[k] * row[k]);
  }
  return {sum, 16 * 0x1p-23 * magnitude + 1e-30};
}

/// A choice among `vocab_size` rows: shared ones and tails, disjoint per token.
struct RowSet {
  RowSet(std::mt19937& rng, int64_t vocab_size, int64_t num_tokens, int64_t row_capacity,
         int64_t tail_capacity) {
    std::vector<int32_t> ids(vocab_size);
    std::iota(ids.begin(), ids.end(), 0);
    std::shuffle(ids.begin(), ids.end(), rng);
    num_rows = static_cast<int32_t>(RandomInt(rng, 0, std::min(row_capacity, vocab_size)));
    row_ids.assign(row_capacity, -1);  // read beyond num_rows, it would be an error
    std::copy_n(ids.begin(), num_rows, row_ids.begin());
    tail_indptr = {0};
    for (int64_t m = 0; m < num_tokens; ++m) {
      const int64_t len = RandomInt(rng, 0, std::min(tail_capacity, vocab_size - num_rows));
      std::shuffle(ids.begin() + num_rows, ids.end(), rng);
      tail_ids.insert(tail_ids.end(), ids.begin() + num_rows, ids.begin() + num_rows + len);
      tail_indptr.push_back(static_cast<int32_t>(tail_ids.size()));
    }
    tail_ids.resize(num_tokens * tail_capacity, -1);
  }

  /// The token ids of a token's rows in order.
  std::vector<int32_t> IdsOf(int64_t token) const {
    std::vector<int32_t> ids(row_ids.begin(), row_ids.begin() + num_rows);
    ids.insert(ids.end(), tail_ids.begin() + tail_indptr[token],
               tail_ids.begin() + tail_indptr[token + 1]);
    return ids;
  }

  std::vector<int32_t> row_ids;
  int32_t num_rows = 0;
  std::vector<int32_t> tail_indptr, tail_ids;
};

/// A row set in a machine's memory; Set puts another one into the same arrays.
struct CudaRowSet {
  CudaRowSet(CudaMachine& machine, const RowSet& set)
      : row_ids(machine, set.row_ids),
        num_rows(machine, std::vector<int32_t>{set.num_rows}),
        tail_indptr(machine, set.tail_indptr),
        tail_ids(machine, set.tail_ids),
        error(machine, std::vector<int32_t>{0}) {}
  void Set(const RowSet& set) {
    row_ids.Set(set.row_ids);
    num_rows.Set({set.num_rows});
    tail_indptr.Set(set.tail_indptr);
    tail_ids.Set(set.tail_ids);
  }

  MachineArray<int32_t> row_ids, num_rows, tail_indptr, tail_ids, error;
};

inline CudaHeadArgs ArgsOf(const CudaRows& rows, const CudaStates& states,
                           const CudaRowSet& chosen) {
  CudaHeadArgs args;
  args.weight = rows.bytes.data();
  args.row_factors = rows.factors.data();
  args.format = rows.format;
  args.vocab_size = static_cast<int64_t>(rows.factors.size());
  args.hidden = rows.layout.hidden;
  args.x = states.view();
  args.row_ids = chosen.row_ids.data();
  args.num_rows = chosen.num_rows.data();
  args.row_capacity = static_cast<int64_t>(chosen.row_ids.size());
  args.tail_capacity = static_cast<int64_t>(chosen.tail_ids.size()) / states.num_tokens;
  if (args.tail_capacity > 0) {
    args.tail_indptr = chosen.tail_indptr.data();
    args.tail_ids = chosen.tail_ids.data();
  }
  args.error = chosen.error.data();
  return args;
}

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_KERNELS_CUDA_HEAD_FIXTURE_H_
