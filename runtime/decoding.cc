#include "runtime/decoding.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace shortlist {

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
  if (rows() == 0 || !models.has_draft()) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(decoding.sketch, models.OpenSketch(path));
  decoding.num_sketch_rows = rows();
  return absl::OkStatus();
}

absl::StatusOr<Decoding> Decoding::Create(Models& models, const DecodingOptions& options,
                                          int64_t num_slots) {
  Decoding made;
  const bool drafts = options.use_draft && models.has_draft();
  if (drafts) {
    SHORTLIST_ASSIGN_OR_RETURN(made.drafter, models.NewDrafter(num_slots));
    if (options.sketch != nullptr) {
      made.drafter->UseSketch(options.sketch, options.num_sketch_rows, models.pool());
    }
    std::shared_ptr<const VocabBase> base = options.base;
    if (options.ladder != nullptr) {
      SHORTLIST_ASSIGN_OR_RETURN(base, options.ladder->Base(options.ladder->start()));
    }
    if (base == nullptr) {
      SHORTLIST_ASSIGN_OR_RETURN(base, VocabBase::FullHead(models.config().vocab_size));
    }
    SHORTLIST_ASSIGN_OR_RETURN(made.vocab,
                               DynamicVocabularyManager::Create(
                                   std::move(base), {.dynamic_capacity = options.num_shared_rows}));
    if (options.ladder != nullptr) {
      made.sizer =
          std::make_unique<VocabSizer>(*made.vocab, options.ladder, options.num_draft_tokens);
    }
  }
  DiscoveryOptions discovery = options.discovery;
  if (drafts && discovery.variant_rows > 0) discovery.variants = models.Variants();
  const SpeculativeEngine::Options engine{.num_draft_tokens = drafts ? options.num_draft_tokens : 0,
                                          .draft_p_min = options.draft_p_min,
                                          .prompt_lookup = options.prompt_lookup,
                                          .verify = options.verify,
                                          .coverage_floor = options.coverage_floor,
                                          .discovery = std::move(discovery),
                                          .sizer = made.sizer.get(),
                                          .num_slots = num_slots,
                                          .emit_size = models.num_ids()};
  SHORTLIST_ASSIGN_OR_RETURN(
      made.engine, SpeculativeEngine::Create(models.target(), made.drafter.get(), made.vocab.get(),
                                             engine, models.pool()));
  return made;
}

}  // namespace shortlist
