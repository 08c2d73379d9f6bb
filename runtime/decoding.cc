#include "runtime/decoding.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "io/model_source.h"
#include "model/checkpoint/config.h"
#include "model/decoder.h"
#include "runtime/sketch_file.h"
#include "vocab/active_vocab.h"
#include "vocab/base_ladder.h"

namespace shortlist {
namespace {

std::optional<int64_t> NumberOf(std::string_view text) {
  int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return number;
}

/// In ascending order, each twice the previous one.
std::vector<int64_t> SketchShares(const Models& models, const DecodingOptions& options) {
  std::vector<int64_t> shares;
  if (options.sketch == nullptr && options.learning == nullptr) return shares;
  const int64_t most = std::min(options.num_sketch_rows, models.num_sketched_rows());
  if (options.min_sketch_rows > 0) {
    for (int64_t rows = options.min_sketch_rows; rows < most; rows *= 2) shares.push_back(rows);
  }
  shares.push_back(most);
  return shares;
}

/// Creates the folder of `path` and calls `write` with `path`, unless `path` is empty.
absl::Status KeepIn(const std::string& path,
                    absl::FunctionRef<absl::Status(const std::string&)> write) {
  if (path.empty()) return absl::OkStatus();
  std::error_code error;
  // A pipe would block until there is a reader; a link may point to a user's file.
  const std::filesystem::file_status status = std::filesystem::symlink_status(path, error);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    return absl::UnavailableError(absl::StrCat(path, " is not a regular file"));
  }
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  return write(path);  // fails if there is no folder
}

/// Null if the system has no thread for it; the current sketch or the full head stays in use.
std::unique_ptr<SketchFitter> NewFitter(const Models& models, const SketchLearning& learning) {
  SketchFitter::Keep keep;
  keep.basis = [path = learning.sketch_cache](const SketchBasis& basis) {
    return KeepIn(path, [&](const std::string& file) { return WriteSketchFile(basis, file); });
  };
  keep.moments = [path = learning.moments_cache](const StateMoments& moments) {
    return KeepIn(path, [&](const std::string& file) { return WriteMomentsFile(moments, file); });
  };
  try {
    return std::make_unique<SketchFitter>(models.draft_head(), models.num_sketched_rows(),
                                          learning.known, std::move(keep));
  } catch (const std::system_error&) {
    return nullptr;
  }
}

/// Opens what earlier runs learned about the draft's head. Sets `learning.warning` for a file that
/// does not fit the head or is damaged; it is replaced when there is new data.
void OpenCached(Models& models, SketchLearning& learning, DecodingOptions& decoding) {
  const int64_t hidden = models.draft_head().hidden;
  learning.sketch_cache = CachedSketchPath(models.draft().path(), models.num_sketched_rows());
  if (learning.sketch_cache.empty()) return;
  learning.moments_cache =
      std::filesystem::path(learning.sketch_cache).replace_extension("moments.safetensors");
  if (FileExists(learning.sketch_cache)) {
    absl::StatusOr<std::shared_ptr<const Sketch>> sketch = models.OpenSketch(learning.sketch_cache);
    if (!sketch.ok()) {  // for example of another head, whose moments do not fit either
      learning.warning = absl::StrCat(absl::StripPrefix(sketch.status().message(), "--sketch: "),
                                      "; the draft's head is learned anew");
      return;
    }
    if ((*sketch)->rank() == SketchBasis::DefaultRank(hidden)) {
      learning.known.num_fitted = (*sketch)->num_states();
      decoding.sketch = *std::move(sketch);
    }
  }
  if (!FileExists(learning.moments_cache)) return;
  absl::StatusOr<StateMoments> moments = ReadMomentsFile(learning.moments_cache, hidden);
  if (moments.ok()) {
    learning.known.moments = *std::move(moments);
  } else {
    learning.warning =
        absl::StrCat(moments.status().message(), "; states of earlier runs no longer count");
  }
}

}  // namespace

absl::Status SketchOptions::ParseRows(std::string_view flag) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const size_t dots = flag.find("..");
  const std::optional<int64_t> most =
      NumberOf(dots == std::string_view::npos ? flag : flag.substr(dots + 2));
  const std::optional<int64_t> least =
      dots == std::string_view::npos ? std::optional<int64_t>(0) : NumberOf(flag.substr(0, dots));
  const bool is_range = dots != std::string_view::npos;
  if (!most || !least || *most < 0 || *most > kMost ||
      (is_range && (*least < 1 || *least > *most))) {
    return absl::InvalidArgumentError(absl::StrCat("\"", std::string(flag.substr(0, 40)),
                                                   "\" is not a number in [0, ", kMost,
                                                   "], nor MIN..MAX with 1 <= MIN <= MAX"));
  }
  num_rows = *most;
  min_rows = *least;
  return absl::OkStatus();
}

absl::Status SketchOptions::Check(const VocabBase& base, int64_t dynamic_rows) const {
  if (rows() < 0 || rows() > base.vocab_size()) {
    return absl::InvalidArgumentError(absl::StrCat("--sketch-rows: ", num_rows, " not in [0, ",
                                                   base.vocab_size(),
                                                   "], the size of the vocabulary"));
  }
  if (base.is_full_head() || base.size() > 0 || base.max_successors() > 0) return absl::OkStatus();
  if (rows() > 0 || dynamic_rows > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--vocab: empty leaves a draft no rows: give --sketch FILE, --sketch-rows or --dynamic-rows");
}

absl::Status SketchOptions::Open(Models& models, DecodingOptions& decoding) const {
  if (!models.has_draft() || num_rows == 0) return absl::OkStatus();
  if (const absl::Status status = models.CheckSketch(); !status.ok()) {
    return rows() > 0 ? status : absl::OkStatus();
  }
  const bool is_full_head =
      decoding.ladder == nullptr && (decoding.base == nullptr || decoding.base->is_full_head());
  if (is_full_head && !alone) return absl::OkStatus();
  if (rows() > 0 && !(is_full_head && path.empty())) {
    SHORTLIST_ASSIGN_OR_RETURN(decoding.sketch, models.OpenSketch(path));
    decoding.num_sketch_rows = rows();
    decoding.min_sketch_rows = min_rows;
    decoding.sketch_alone = is_full_head;
    return absl::OkStatus();
  }
  const int64_t num_sketched = models.num_sketched_rows();
  if (!is_full_head || !Sketch::Halves(models.draft_head(), num_sketched, kAloneRows + kTailRows)) {
    return absl::OkStatus();
  }
  decoding.sketch_alone = true;
  decoding.num_sketch_rows = num_rows > 0 ? num_rows : kAloneRows;
  decoding.min_sketch_rows = min_rows;
  auto learning = std::make_shared<SketchLearning>();
  OpenCached(models, *learning, decoding);
  decoding.learning = std::move(learning);
  return absl::OkStatus();
}

absl::StatusOr<Decoding> Decoding::Create(Models& models, const DecodingOptions& options,
                                          int64_t num_slots) {
  Decoding made;
  const bool drafts = options.use_draft && models.has_draft();
  if (drafts) {
    SHORTLIST_ASSIGN_OR_RETURN(made.drafter, models.NewDrafter(num_slots));
    if (options.sketch != nullptr) {
      made.drafter->UseSketch(options.sketch, options.num_sketch_rows, models.pool(),
                              models.device_head());
    }
    if (options.learning != nullptr) {
      made.fitter = NewFitter(models, *options.learning);
      if (made.fitter != nullptr) {
        made.drafter->LearnSketch(*made.fitter, options.num_sketch_rows, models.pool(),
                                  models.device_head());
      }
    }
    std::shared_ptr<const VocabBase> base = options.base;
    std::shared_ptr<const BaseLadder> ladder = options.ladder;
    if (options.sketch_alone) {
      SHORTLIST_ASSIGN_OR_RETURN(ladder, BaseLadder::WithoutList(models.config().vocab_size));
    }
    if (ladder != nullptr) {
      const bool begins_with_sketch = options.sketch_alone && options.sketch != nullptr;
      SHORTLIST_ASSIGN_OR_RETURN(base, ladder->Base(begins_with_sketch ? 0 : ladder->start()));
    }
    if (base == nullptr) {
      SHORTLIST_ASSIGN_OR_RETURN(
          base, VocabBase::FullHead(models.config().vocab_size, models.head_rows()));
    }
    SHORTLIST_ASSIGN_OR_RETURN(made.vocab,
                               DynamicVocabularyManager::Create(
                                   std::move(base), {.dynamic_capacity = options.num_shared_rows}));
    const bool sizes_sketch = options.sketch != nullptr && options.min_sketch_rows > 0;
    if (ladder != nullptr || sizes_sketch) {
      made.sizer = std::make_unique<VocabSizer>(
          *made.vocab, ladder, SketchShares(models, options), options.num_draft_tokens,
          /*awaits_sketch=*/options.sketch_alone && options.sketch == nullptr);
    }
  }
  // Without a draft model, what grammars force is drafted all the same.
  const SpeculativeEngine::Options engine{
      .num_draft_tokens = options.use_draft ? options.num_draft_tokens : 0,
      .draft_p_min = options.draft_p_min,
      .suffix_drafts = options.suffix_drafts,
      .copies_alone = options.copies_alone,
      .verify = options.verify,
      .coverage_floor = options.coverage_floor,
      .continuation_rows = options.continuation_rows,
      .sizer = made.sizer.get(),
      .num_slots = num_slots,
      .emit_size = models.num_ids()};
  SHORTLIST_ASSIGN_OR_RETURN(
      made.engine, SpeculativeEngine::Create(models.target(), made.drafter.get(), made.vocab.get(),
                                             engine, models.pool()));
  return made;
}

}  // namespace shortlist
