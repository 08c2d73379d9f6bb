#include "cli/compare.h"

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/counted.h"
#include "base/status_macros.h"
#include "cli/compare_explain.h"
#include "cli/compare_report.h"
#include "cli/decode_all.h"
#include "cli/progress.h"
#include "cli/repetition.h"
#include "cli/session.h"
#include "draft/chain_drafter.h"
#include "kernels/head.h"
#include "kernels/quant.h"
#include "model/checkpoint/config.h"
#include "model/checkpoint/generation_config.h"
#include "sketch/sketch.h"
#include "vocab/active_vocab.h"
#include "vocab/base_ladder.h"

namespace shortlist {
namespace {

// --sweep tries the vocabulary's size divided by each of these.
constexpr int64_t kSweepDivisors[] = {2, 4, 8, 16, 32};

/// The ways to decode: engines[i] runs contenders[i].
struct Field {
  std::vector<Contender> contenders;
  std::vector<std::unique_ptr<Engine>> engines;
  std::vector<std::vector<TokenId>> outputs;  // [prompts], of plain decoding
  std::vector<RefusedContender> refused;
};

int64_t SketchRows(const Session& session) {
  return session.sketch() != nullptr ? session.decoding().num_sketch_rows : 0;
}

absl::Status Add(Session& session, Contender contender, bool use_draft,
                 std::shared_ptr<const VocabBase> base, Field& field) {
  DecodingOptions decoding = session.decoding();
  if (contender.sketch_rows == 0) decoding.sketch = nullptr;
  decoding.sketch_alone = contender.sketch_alone;
  if (!contender.sketch_alone) decoding.learning = nullptr;
  decoding.num_sketch_rows = contender.sketch_rows;
  if (!contender.finds_share) decoding.min_sketch_rows = 0;
  decoding.use_draft = use_draft;
  decoding.base = std::move(base);
  if (!contender.finds_size) decoding.ladder = nullptr;
  decoding.num_shared_rows = contender.shared_rows;
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<Engine> engine, OpenEngine(session, decoding));
  field.contenders.push_back(std::move(contender));
  field.engines.push_back(std::move(engine));
  return absl::OkStatus();
}

/// Adds a contender with `base` and the additional rows in `rows`. Sets its name.
absl::Status AddPruned(Session& session, std::shared_ptr<const VocabBase> base, Contender rows,
                       Field& field) {
  std::string& name = rows.name;
  name = rows.sketch_alone  ? "draft, no list"
         : rows.finds_size  ? "draft, size by itself"
         : base->size() > 0 ? absl::StrCat("draft, top ", base->size())
                            : "draft, no list";
  if (rows.dynamic_rows > 0) absl::StrAppend(&name, " + ", rows.dynamic_rows, " dynamic");
  if (rows.shared_rows > 0) absl::StrAppend(&name, " + ", rows.shared_rows, " shared");
  if (rows.successor_rows > 0) absl::StrAppend(&name, " + ", rows.successor_rows, " successors");
  if (rows.sketch_rows > 0) {
    const int64_t least = session.flags().sketch.min_rows;
    absl::StrAppend(&name, " + ", rows.finds_share ? absl::StrCat(least, "..") : "",
                    rows.sketch_rows, " by sketch");
  }
  rows.base_rows = base->size();
  return Add(session, std::move(rows), /*use_draft=*/true, std::move(base), field);
}

/// Adds a --sweep contender of `num_rows` rows in all. Refused if the list has no such base.
absl::Status AddSize(Session& session, VocabOptions options, int64_t num_rows, int64_t dynamic_rows,
                     int64_t successor_rows, Field& field) {
  options.top_n = num_rows - dynamic_rows - successor_rows;
  if (successor_rows > 0) options.successors = successor_rows;
  absl::StatusOr<std::shared_ptr<const VocabBase>> base = session.models().SelectBase(options);
  if (!base.ok()) {
    field.refused.push_back(
        {absl::StrCat("draft, top ", *options.top_n), std::string(base.status().message())});
    return absl::OkStatus();
  }
  return AddPruned(session, *std::move(base),
                   {.dynamic_rows = dynamic_rows, .successor_rows = successor_rows}, field);
}

/// Adds the list at several sizes: alone, with dynamic rows, and with successors too, with the same
/// total number of rows. Successors take at most half of what dynamic rows leave. InvalidArgument
/// if dynamic rows leave nothing, or if the list has none of these sizes.
absl::Status AddSweep(Session& session, Field& field) {
  VocabOptions options = session.flags().vocab;
  if (options.custom_vocab_path.empty() || options.top_n || options.ratio || options.coverage) {
    return absl::InvalidArgumentError(
        "--sweep needs --vocab FILE[:auto][:successors=M], without :top, :ratio, :coverage");
  }
  const int64_t most_successors = std::exchange(options.successors, std::nullopt).value_or(0);
  const int64_t vocab_size = session.models().config().vocab_size;
  const int64_t dynamic_rows = session.flags().dynamic_rows;
  const size_t num_before = field.contenders.size();
  for (const int64_t divisor : kSweepDivisors) {
    const int64_t num_rows = vocab_size / divisor;
    if (num_rows <= dynamic_rows) {
      return absl::InvalidArgumentError(absl::StrCat("--sweep: --dynamic-rows ", dynamic_rows,
                                                     " leave nothing of ",
                                                     Counted(num_rows, "row")));
    }
    SHORTLIST_RETURN_IF_ERROR(AddSize(session, options, num_rows, 0, 0, field));
    if (dynamic_rows > 0) {
      SHORTLIST_RETURN_IF_ERROR(AddSize(session, options, num_rows, dynamic_rows, 0, field));
    }
    const int64_t successors = std::min(most_successors, (num_rows - dynamic_rows) / 2);
    if (successors > 0) {
      SHORTLIST_RETURN_IF_ERROR(
          AddSize(session, options, num_rows, dynamic_rows, successors, field));
    }
  }
  if (field.contenders.size() > num_before) return absl::OkStatus();
  return absl::InvalidArgumentError("--sweep: " + field.refused.back().why);
}

/// Adds the list with the size found while requests run, and with --sweep each possible size.
absl::Status AddLadder(Session& session, bool sweep, Field& field) {
  const BaseLadder& ladder = *session.ladder();
  Contender rows{.dynamic_rows = session.flags().dynamic_rows,
                 .shared_rows = session.flags().dynamic_capacity,
                 .successor_rows = session.flags().vocab.successors.value_or(0),
                 .sketch_rows = SketchRows(session)};
  for (size_t size = 0; sweep && size < ladder.rows().size(); ++size) {
    SHORTLIST_ASSIGN_OR_RETURN(std::shared_ptr<const VocabBase> base, ladder.Base(size));
    if (base->is_full_head()) continue;  // is a contender already
    SHORTLIST_RETURN_IF_ERROR(AddPruned(session, std::move(base), rows, field));
  }
  rows.finds_size = true;
  rows.finds_share = session.flags().sketch.min_rows > 0;
  return AddPruned(session, session.base(), rows, field);
}

/// Adds each power of two as number of sketch rows, and the number found while requests run.
absl::Status AddShares(Session& session, Field& field) {
  const RunFlags& flags = session.flags();
  Contender rows{.dynamic_rows = flags.dynamic_rows,
                 .shared_rows = flags.dynamic_capacity,
                 .successor_rows = flags.vocab.successors.value_or(0)};
  for (int64_t share = flags.sketch.min_rows; share < flags.sketch.rows(); share *= 2) {
    rows.sketch_rows = share;
    SHORTLIST_RETURN_IF_ERROR(AddPruned(session, session.base(), rows, field));
  }
  rows.sketch_rows = flags.sketch.rows();
  SHORTLIST_RETURN_IF_ERROR(AddPruned(session, session.base(), rows, field));
  rows.finds_share = true;
  return AddPruned(session, session.base(), rows, field);
}

/// Adds the default way to decode: a sketch without a list.
absl::Status AddSketchAlone(Session& session, Field& field) {
  return AddPruned(session, session.base(),
                   {.dynamic_rows = session.flags().dynamic_rows,
                    .shared_rows = session.flags().dynamic_capacity,
                    .finds_size = true,
                    .sketch_alone = true,
                    .sketch_rows = session.decoding().num_sketch_rows,
                    .finds_share = session.flags().sketch.min_rows > 0},
                   field);
}

absl::StatusOr<Field> MakeField(Session& session, bool sweep) {
  Field field;
  SHORTLIST_ASSIGN_OR_RETURN(
      const std::shared_ptr<const VocabBase> all_rows,
      VocabBase::FullHead(session.models().config().vocab_size, session.models().head_rows()));
  SHORTLIST_RETURN_IF_ERROR(
      Add(session, {.name = "plain"}, /*use_draft=*/false, /*base=*/nullptr, field));
  if (!session.models().has_draft()) {
    SHORTLIST_RETURN_IF_ERROR(
        Add(session, {.name = "suffix drafts"}, /*use_draft=*/true, /*base=*/nullptr, field));
    return field;
  }
  const int64_t num_rows = std::min(session.models().num_ids(), all_rows->num_rows());
  SHORTLIST_RETURN_IF_ERROR(Add(session, {.name = "draft, full head", .base_rows = num_rows},
                                /*use_draft=*/true, all_rows, field));
  if (session.decoding().sketch_alone && !sweep) {
    SHORTLIST_RETURN_IF_ERROR(AddSketchAlone(session, field));
  } else if (sweep && session.flags().sketch.min_rows > 0 && session.ladder() == nullptr) {
    SHORTLIST_RETURN_IF_ERROR(AddShares(session, field));
  } else if (session.ladder() != nullptr) {
    SHORTLIST_RETURN_IF_ERROR(AddLadder(session, sweep, field));
  } else if (sweep) {
    SHORTLIST_RETURN_IF_ERROR(AddSweep(session, field));
  } else if (!session.base()->is_full_head()) {
    // Each source of rows alone, then together.
    const RunFlags& flags = session.flags();
    const bool is_dynamic = flags.dynamic_rows > 0 || flags.dynamic_capacity > 0;
    for (const int64_t sketched : std::set<int64_t>{0, SketchRows(session)}) {
      for (const bool with_dynamic : std::set<bool>{false, is_dynamic}) {
        Contender rows{.dynamic_rows = with_dynamic ? flags.dynamic_rows : 0,
                       .shared_rows = with_dynamic ? flags.dynamic_capacity : 0,
                       .successor_rows = flags.vocab.successors.value_or(0),
                       .sketch_rows = sketched};
        if (session.base()->size() == 0 && !with_dynamic && sketched == 0) continue;
        rows.finds_share = sketched > 0 && flags.sketch.min_rows > 0;
        SHORTLIST_RETURN_IF_ERROR(AddPruned(session, session.base(), rows, field));
      }
    }
  }
  return field;
}

/// Adds the result of one repetition of prompt number `prompt`.
void Record(const Completion& completion, size_t prompt, Contender& contender, Field& field) {
  const bool is_first_run = field.outputs.size() == prompt;
  if (is_first_run) field.outputs.push_back(completion.output_ids);
  const bool is_first_repetition = contender.prompts.size() == prompt;
  if (is_first_repetition) {
    contender.prompts.push_back({.step_seconds = completion.step_seconds,
                                 .stats = completion.stats,
                                 .repetition = CountRepeatedSixgrams(completion.output_ids)});
  }
  PromptResult& result = contender.prompts[prompt];
  result.step_seconds = std::min(result.step_seconds, completion.step_seconds);
  result.engine.Add(completion.engine);
  result.identical &= completion.output_ids == field.outputs[prompt];
}

/// Interleaved: each group of --batch prompts runs in every way before the next group starts, so
/// that a slowdown of the machine affects all ways.
absl::Status RunAll(const Session& session, int64_t num_repetitions, Field& field) {
  const std::span<const Session::Request> requests = session.requests();
  const auto group_size = static_cast<size_t>(session.flags().batch);
  // Warm up: first touch of the caches, the packed rows, the threads.
  for (const std::unique_ptr<Engine>& engine : field.engines) {
    SHORTLIST_RETURN_IF_ERROR(
        DecodeAll(*engine, session, requests.first(1), /*max_tail_rows=*/0, {}, "warm up")
            .status());
  }
  const size_t num_groups = (requests.size() + group_size - 1) / group_size;
  Progress progress("run",
                    static_cast<int64_t>(num_repetitions * num_groups * field.engines.size()));
  for (int64_t repetition = 0; repetition < num_repetitions; ++repetition) {
    for (size_t first = 0; first < requests.size(); first += group_size) {
      const auto group = requests.subspan(first, std::min(group_size, requests.size() - first));
      for (size_t c = 0; c < field.engines.size(); ++c) {
        SHORTLIST_ASSIGN_OR_RETURN(
            const std::vector<Completion> completions,
            DecodeAll(*field.engines[c], session, group, field.contenders[c].dynamic_rows, {},
                      absl::StrCat("repetition ", repetition)));
        for (size_t i = 0; i < completions.size(); ++i) {
          Record(completions[i], first + i, field.contenders[c], field);
        }
        progress.Advance();
      }
    }
  }
  return absl::OkStatus();
}

/// Records the sizes that were found at the end.
void TellFoundSizes(Field& field) {
  for (size_t c = 0; c < field.engines.size(); ++c) {
    Contender& contender = field.contenders[c];
    if (!contender.finds_size) continue;
    const std::shared_ptr<const ActiveVocab> active = field.engines[c]->vocab()->Active();
    contender.base_rows = active->base()->num_rows();
    if (contender.base_rows == 0) continue;
    absl::StrAppend(&contender.name, active->is_full_head() && contender.sketch_alone
                                         ? ": the full head"
                                         : absl::StrCat(": top ", contender.base_rows));
  }
}

}  // namespace

absl::StatusOr<bool> Compare(const CompareFlags& flags, std::ostream& out) {
  const RunFlags& run = flags.run;
  const bool has_model = !run.models.draft.empty();
  if (!has_model && !run.decoding.copies_alone) {
    return absl::InvalidArgumentError("compare needs --draft");
  }
  if (!has_model && flags.sweep) {
    return absl::InvalidArgumentError("--sweep: --draft suffix has no vocabulary");
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Open(run));
  SHORTLIST_ASSIGN_OR_RETURN(Field field, MakeField(*session, flags.sweep));
  SHORTLIST_RETURN_IF_ERROR(RunAll(*session, flags.num_repetitions, field));

  TellFoundSizes(field);
  for (size_t c = 0; c < field.engines.size(); ++c) {
    int64_t num_mapping_faults = 0;
    for (const PromptResult& result : field.contenders[c].prompts) {
      num_mapping_faults += result.stats.num_mapping_faults;
    }
    NoteDraftTrouble(field.contenders[c].name, *field.engines[c], num_mapping_faults);
  }
  const bool greedy = session->sampling().greedy();
  const HeadWeight head = has_model ? session->models().draft_head() : HeadWeight();
  int64_t sketch_bytes = 0;
  for (const std::unique_ptr<Engine>& engine : field.engines) {
    if (engine->drafter() == nullptr) continue;
    sketch_bytes = std::max(sketch_bytes, engine->drafter()->sketch_bytes());
  }
  Comparison comparison{.contenders = std::move(field.contenders),
                        .refused = std::move(field.refused),
                        .greedy = greedy,
                        .comparable = run.decoding.verify == VerifyMode::kCoupled || greedy,
                        .head_rows = head.vocab_size,
                        .head_row_bytes = RowBytes(head.dtype, head.hidden),
                        .sketch_bytes = sketch_bytes,
                        .num_repetitions = flags.num_repetitions,
                        .batch = run.batch,
                        .num_threads = run.num_threads,
                        .temperature = session->sampling().temperature,
                        .num_draft_tokens = run.decoding.num_draft_tokens,
                        .draft_p_min = run.decoding.draft_p_min,
                        .suffix_drafts = run.decoding.suffix_drafts,
                        .max_new_tokens = session->sampling().max_new_tokens};
  for (const Session::Request& request : session->requests()) {
    comparison.sources.push_back(request.source);
  }
  if (run.json) {
    WriteJson(comparison, out);
  } else {
    WriteTables(comparison, out);
    if (flags.explain) WriteExplanations(comparison, out);
  }
  return !comparison.comparable || AllIdentical(comparison);
}

}  // namespace shortlist
