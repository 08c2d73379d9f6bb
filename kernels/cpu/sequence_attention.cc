#include "kernels/sequence_attention.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "kernels/cpu/input.h"
#include "kernels/cpu/kernel_table.h"
#include "kernels/cpu/sequence_tiles.h"

// Over vectors both products are linear layers. A head's keys are the weight that turns queries
// into scores; its values are the weight that turns the scores' exponentials into outputs. So keys
// and values are laid out as f32 panels (cpu/linear.cc) and run through the linear kernel, which
// has the same order of sums for every tile. Over tiles both products have kernels of their own
// (cpu/tile_sequence.inc). Keys and values outside a token's radius count with weight 0.

namespace shortlist {
namespace {

/// Queries of a task: few, so that their scores stay in the second-level cache, but full tiles of
/// the linear kernels.
constexpr int64_t kBlockTokens = 56;

/// kPanelRows neighbouring tokens of one sequence (fewer at its end), or a block of queries.
struct Piece {
  int64_t seq;
  int64_t position;  // of the first token in the sequence
  int64_t num_tokens;
};

int64_t NumPanels(int64_t rows) { return (rows + kPanelRows - 1) / kPanelRows; }

int64_t Length(const SequenceAttention& attention, int64_t seq) {
  return attention.seq_begin[seq + 1] - attention.seq_begin[seq];
}

/// Returns the pieces of all sequences, `size` tokens each.
std::vector<Piece> Cut(const SequenceAttention& attention, int64_t size) {
  std::vector<Piece> pieces;
  for (int64_t s = 0; s + 1 < static_cast<int64_t>(attention.seq_begin.size()); ++s) {
    const int64_t length = Length(attention, s);
    for (int64_t at = 0; at < length; at += size) {
      pieces.push_back({s, at, std::min(size, length - at)});
    }
  }
  return pieces;
}

/// Adds the bias to a head's query, key and value, [3, head_dim], and rotates query and key.
void PrepareRow(const SequenceAttention& attention, const KernelTable& table, int64_t position,
                int64_t head, float* row) {
  const int64_t width = 3 * attention.head_dim, half = attention.head_dim / 2;
  if (attention.bias != nullptr) {
    table.add(attention.bias + head * width, DType::kF32, width, row);
  }
  if (attention.cos == nullptr) return;
  for (float* rotated : {row, row + attention.head_dim}) {
    table.rope(rotated, attention.cos + position * half, attention.sin + position * half, half);
  }
}

/// The work over vectors.
class Work {
 public:
  Work(const SequenceAttention& attention, float* rows, float* out)
      : a_(attention),
        table_(CurrentKernels()),
        rows_(rows),
        out_(out),
        row_width_(3 * a_.num_heads * a_.head_dim),
        value_panels_(NumPanels(a_.head_dim)) {
    thread_local Scratch key_scratch, value_scratch;
    int64_t num_panels = 0;
    for (size_t s = 0; s + 1 < a_.seq_begin.size(); ++s) {
      first_panel_.push_back(num_panels);
      num_panels += NumPanels(Length(static_cast<int64_t>(s)));
    }
    const int64_t panel_floats = a_.num_heads * kPanelRows;
    const int64_t floats = static_cast<int64_t>(sizeof(float));
    keys_ = static_cast<float*>(key_scratch.Get(num_panels * panel_floats * a_.head_dim * floats));
    values_ = static_cast<float*>(
        value_scratch.Get(a_.seq_begin.back() * panel_floats * value_panels_ * floats));
  }

  /// Applies bias, rotation and scale, then stores the keys and values of the piece, which is one
  /// panel.
  void Prepare(const Piece& piece, int64_t head) const {
    float* const keys = Keys(piece.seq, head) + piece.position * a_.head_dim;
    std::fill_n(keys, kPanelRows * a_.head_dim, 0.0f);
    for (int64_t i = 0; i < piece.num_tokens; ++i) {
      const int64_t position = piece.position + i;
      float* const query = Row(piece.seq, position, head);
      float* const key = query + a_.head_dim;
      const float* const value = key + a_.head_dim;
      PrepareRow(a_, table_, position, head, query);
      for (int64_t d = 0; d < a_.head_dim; ++d) {
        query[d] *= a_.scale;
        keys[d * kPanelRows + i] = key[d];
      }
      for (int64_t p = 0; p < value_panels_; ++p) {
        const int64_t first = p * kPanelRows;
        const int64_t count = std::min(kPanelRows, a_.head_dim - first);
        float* const target = Values(piece.seq, head, p) + position * kPanelRows;
        std::fill(std::copy_n(value + first, count, target), target + kPanelRows, 0.0f);
      }
    }
  }

  /// Computes the outputs of a block of queries.
  void Attend(const Piece& block, int64_t head) const {
    thread_local Scratch scratch;
    const int64_t length = Length(block.seq);
    const int64_t last = block.position + block.num_tokens - 1;
    // Whole panels, so that a position is summed in the same lane for every block.
    const int64_t begin = First(block.position) / kPanelRows * kPanelRows;
    const int64_t end = End(last, length);
    const int64_t count = end - begin;
    // Rows 2 KiB apart would evict one another from the first-level cache (cpu/input.cc).
    const int64_t stride = count % 512 == 0 ? count + 16 : count;
    auto* const weights = static_cast<float*>(
        scratch.Get(block.num_tokens * stride * static_cast<int64_t>(sizeof(float))));
    LinearJob scores = {
        .panels = Keys(block.seq, head),
        .dtype = DType::kF32,
        .in_features = a_.head_dim,
        .out_features = end,
        .x = Inputs(Row(block.seq, block.position, head), row_width_, block.num_tokens),
        .y = weights,
        .y_stride = stride,
        .y_begin = begin,
    };
    table_.linear(scores, begin / kPanelRows, NumPanels(end));

    float inverse_sums[kBlockTokens];
    for (int64_t i = 0; i < block.num_tokens; ++i) {
      constexpr float kUnseen = -std::numeric_limits<float>::infinity();
      float* const row = weights + i * stride;
      const int64_t position = block.position + i;
      std::fill_n(row, First(position) - begin, kUnseen);
      std::fill(row + (End(position, length) - begin), row + count, kUnseen);
      inverse_sums[i] = 1.0f / table_.exponentiate(row, count);
    }

    const int64_t width = a_.num_heads * a_.head_dim;
    float* const out =
        out_ + (a_.seq_begin[block.seq] + block.position) * width + head * a_.head_dim;
    for (int64_t p = 0; p < value_panels_; ++p) {
      LinearJob mix = {
          .panels = Values(block.seq, head, p) + begin * kPanelRows,
          .dtype = DType::kF32,
          .in_features = count,
          .out_features = std::min(kPanelRows, a_.head_dim - p * kPanelRows),
          .x = Inputs(weights, stride, block.num_tokens),
          .y = out + p * kPanelRows,
          .y_stride = width,
      };
      table_.linear(mix, 0, 1);
    }
    for (int64_t i = 0; i < block.num_tokens; ++i) {
      for (int64_t d = 0; d < a_.head_dim; ++d) out[i * width + d] *= inverse_sums[i];
    }
  }

 private:
  static InputRows Inputs(const float* x, int64_t stride, int64_t num_tokens) {
    return {x, stride, num_tokens, stride * static_cast<int64_t>(sizeof(float))};
  }
  int64_t Length(int64_t seq) const { return shortlist::Length(a_, seq); }
  /// A token sees positions [First, End).
  int64_t First(int64_t position) const {
    return a_.radius < 0 ? 0 : std::max<int64_t>(position - a_.radius, 0);
  }
  int64_t End(int64_t position, int64_t length) const {
    return a_.radius < 0 ? length : std::min(position + a_.radius + 1, length);
  }
  /// Returns a head's query, which is followed by key and value.
  float* Row(int64_t seq, int64_t position, int64_t head) const {
    return rows_ + (a_.seq_begin[seq] + position) * row_width_ + head * 3 * a_.head_dim;
  }
  /// Returns the panels of a head's keys: [head_dim][kPanelRows] each.
  float* Keys(int64_t seq, int64_t head) const {
    const int64_t panel = first_panel_[seq] * a_.num_heads + head * NumPanels(Length(seq));
    return keys_ + panel * kPanelRows * a_.head_dim;
  }
  /// Returns one panel of a head's values: [tokens of the sequence][kPanelRows].
  float* Values(int64_t seq, int64_t head, int64_t panel) const {
    const int64_t tokens = a_.seq_begin[seq] * a_.num_heads + head * Length(seq);
    return values_ + (tokens * value_panels_ + panel * Length(seq)) * kPanelRows;
  }

  const SequenceAttention& a_;
  const KernelTable& table_;
  float* const rows_;
  float* const out_;
  const int64_t row_width_;
  const int64_t value_panels_;
  std::vector<int64_t> first_panel_;  // [num_seqs]
  float* keys_;
  float* values_;
};

/// The work over tiles.
class TileWork {
 public:
  TileWork(const SequenceAttention& attention, float* rows, float* out)
      : a_(attention), table_(CurrentKernels()), rows_(rows), out_(out) {
    thread_local Scratch scratch;
    int64_t bytes = 0;
    for (size_t s = 0; s + 1 < a_.seq_begin.size(); ++s) {
      first_byte_.push_back(bytes);
      bytes += 3 * a_.num_heads * Shape(static_cast<int64_t>(s)).Bytes();
    }
    data_ = static_cast<char*>(scratch.Get(bytes));
  }

  void Prepare(const Piece& piece, int64_t head) const {
    const int64_t row_width = 3 * a_.num_heads * a_.head_dim;
    float* const rows =
        rows_ + (a_.seq_begin[piece.seq] + piece.position) * row_width + head * 3 * a_.head_dim;
    for (int64_t i = 0; i < piece.num_tokens; ++i) {
      PrepareRow(a_, table_, piece.position + i, head, rows + i * row_width);
    }
    table_.pack_sequence(Tiles(piece.seq, head), rows, row_width, piece.position, piece.num_tokens);
  }

  void Attend(const Piece& block, int64_t head) const {
    table_.attend_sequence(Tiles(block.seq, head), block.position, block.num_tokens);
  }

 private:
  SequenceTiles Shape(int64_t seq) const {
    return {
        .length = Length(a_, seq), .head_dim = a_.head_dim, .radius = a_.radius, .scale = a_.scale};
  }
  SequenceTiles Tiles(int64_t seq, int64_t head) const {
    SequenceTiles tiles = Shape(seq);
    const int64_t bytes = tiles.Bytes();
    tiles.queries = data_ + first_byte_[seq] + head * 3 * bytes;
    tiles.keys = tiles.queries + bytes;
    tiles.values = tiles.keys + bytes;
    tiles.out_stride = a_.num_heads * a_.head_dim;
    tiles.out = out_ + a_.seq_begin[seq] * tiles.out_stride + head * a_.head_dim;
    return tiles;
  }

  const SequenceAttention& a_;
  const KernelTable& table_;
  float* const rows_;
  float* const out_;
  std::vector<int64_t> first_byte_;  // [num_seqs]
  char* data_;
};

/// Prepares every panel of every head, then attends to every block of queries.
template <typename AnyWork>
void RunWork(const SequenceAttention& attention, const AnyWork& work, int64_t block_tokens,
             ThreadPool& pool) {
  const int64_t num_heads = attention.num_heads;
  const std::vector<Piece> panels = Cut(attention, kPanelRows);
  const auto num_panels = static_cast<int64_t>(panels.size());
  pool.ParallelFor(num_panels * num_heads, /*grain=*/1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) work.Prepare(panels[i % num_panels], i / num_panels);
  });
  struct Blocks {
    const AnyWork& work;
    std::vector<Piece> pieces;
    int64_t num_pieces;
  } blocks = {work, Cut(attention, block_tokens), 0};
  blocks.num_pieces = static_cast<int64_t>(blocks.pieces.size());
  // Processes one head after the other, so that its keys and values stay in the second-level cache.
  // Threads claim blocks as they become free: near the ends of a sequence a block sees less.
  pool.Run(
      blocks.num_pieces * num_heads,
      [](void* context, int64_t i) {
        const auto& b = *static_cast<const Blocks*>(context);
        b.work.Attend(b.pieces[i % b.num_pieces], i / b.num_pieces);
      },
      &blocks);
}

}  // namespace

void SequenceAttentionCpu(const SequenceAttention& attention, float* rows, float* out,
                          ThreadPool& pool) {
  if (attention.seq_begin.back() == 0) return;
  if (attention.dtype != DType::kF32 && CurrentKernels().tile_attention) {
    return RunWork(attention, TileWork(attention, rows, out), kMaxTileRows, pool);
  }
  RunWork(attention, Work(attention, rows, out), kBlockTokens, pool);
}

}  // namespace shortlist
