#ifndef SHORTLIST_RUNTIME_DECODING_OPTIONS_H_
#define SHORTLIST_RUNTIME_DECODING_OPTIONS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "draft/engine_options.h"

namespace shortlist {

class BaseLadder;
class Models;
class Sketch;
class VocabBase;
struct SketchLearning;  // runtime/decoding.h

/// Rows that a sketch chooses for each draft token, in addition to a vocabulary list.
constexpr int64_t kDefaultSketchRows = 256;

/// How models decode, independent of the scheduler.
struct DecodingOptions {
  // false: plain decoding. Without a draft model only what grammars force is drafted, and copies if
  // copies_alone.
  bool use_draft = true;
  std::shared_ptr<const VocabBase> base;  // null: the full head
  // If not null: replaces `base` by the fastest of these bases (VocabSizer).
  std::shared_ptr<const BaseLadder> ladder;
  int64_t num_shared_rows = 0;  // dynamic rows shared by all requests
  // Chooses num_sketch_rows (at least 1) additional rows for every draft token; null: none.
  std::shared_ptr<const Sketch> sketch;
  int64_t num_sketch_rows = kDefaultSketchRows;
  // Lower bound of the sketch rows: the fastest number between this and num_sketch_rows is used
  // (VocabSizer). 0: always num_sketch_rows.
  int64_t min_sketch_rows = 0;
  // True: there is no vocabulary list, and `base` and `ladder` are ignored. Once there is a sketch,
  // it chooses all rows, unless the full head is faster (VocabSizer).
  bool sketch_alone = false;
  std::shared_ptr<const SketchLearning> learning;  // null: `sketch` is fixed
  int64_t num_draft_tokens = EngineOptions{}.num_draft_tokens;
  std::optional<double> draft_p_min;  // null: decided by measured costs
  // As in EngineOptions. copies_alone: --draft suffix.
  bool suffix_drafts = EngineOptions{}.suffix_drafts;
  bool copies_alone = EngineOptions{}.copies_alone;
  VerifyMode verify = EngineOptions{}.verify;
  double coverage_floor = EngineOptions{}.coverage_floor;
  int64_t continuation_rows = EngineOptions{}.continuation_rows;
};

/// Options of a sketch.
struct SketchOptions {
  static constexpr int64_t kByPath = -1;       // kDefaultSketchRows with a path, else 0
  static constexpr int64_t kAloneRows = 1024;  // rows of a sketch without a vocabulary list
  // recommended tail rows of a request in addition to kAloneRows
  static constexpr int64_t kTailRows = 256;

  std::string path;            // file of WriteSketchFile; empty: a sketch of the head alone
  int64_t num_rows = kByPath;  // per draft token; 0: no sketch
  int64_t min_rows = 0;        // see DecodingOptions::min_sketch_rows
  // If the vocabulary is the full head, let a sketch choose all rows: the sketch of `path`, or one
  // that is fitted while the draft runs and saved in the user's cache. A fitted one is used only if
  // it at least halves what a draft reads (Sketch::Halves).
  bool alone = true;

  int64_t rows() const {
    return num_rows != kByPath ? num_rows : path.empty() ? 0 : kDefaultSketchRows;
  }
  /// Parses N (num_rows) or MIN..MAX (min_rows and num_rows) with 1 <= MIN <= MAX. Returns
  /// InvalidArgument with the offending text.
  absl::Status ParseRows(std::string_view flag);
  /// Returns InvalidArgument if rows() is not in [0, vocab_size]. Also if neither `base` (which may
  /// be `empty`), nor the sketch, nor `dynamic_rows` give a draft any row to score.
  absl::Status Check(const VocabBase& base, int64_t dynamic_rows) const;
  /// Sets the sketch options of `decoding`, whose base and ladder must be set, if there is a draft
  /// to use them. Returns errors of Models::OpenSketch; ignores a cached sketch that cannot be
  /// read.
  absl::Status Open(Models& models, DecodingOptions& decoding) const;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_DECODING_OPTIONS_H_
