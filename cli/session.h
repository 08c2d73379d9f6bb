#ifndef SHORTLIST_CLI_SESSION_H_
#define SHORTLIST_CLI_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "cli/flags/flags.h"
#include "head/sketch.h"
#include "request/sampling_params.h"
#include "runtime/decoding.h"
#include "runtime/models.h"
#include "vocab/active_vocab.h"
#include "vocab/base_ladder.h"

namespace shortlist {

/// What one run of a subcommand works with: models, vocabulary base and encoded prompts, all
/// checked against each other before anything is decoded. Used by one thread.
class Session {
 public:
  struct Request {
    std::string origin;              // as PromptRow::origin
    std::string source;              // as PromptRow::source
    std::vector<TokenId> token_ids;  // not empty, shorter than the target's context
  };

  /// Opens everything that `flags` name; the cheap checks come before the weights are read. Errors
  /// are those of Models, or name what does not fit: a prompt longer than the context (both
  /// lengths) or with an id that the target has no row for, a list of another tokenizer (both
  /// fingerprints), more dynamic rows than the vocabulary has. Flags without effect are noted on
  /// stderr.
  static absl::StatusOr<std::unique_ptr<Session>> Open(const RunFlags& flags);

  const RunFlags& flags() const { return flags_; }
  ThreadPool& pool() { return pool_; }
  Models& models() { return *models_; }
  const Models& models() const { return *models_; }
  /// Those of --prompt or --prompts; none where neither was given.
  const std::vector<Request>& requests() const { return requests_; }
  const std::shared_ptr<const VocabBase>& base() const { return decoding_.base; }
  /// Null: none is asked for or there yet, or the draft scores its full head, or there is no draft.
  const std::shared_ptr<const Sketch>& sketch() const { return decoding_.sketch; }
  /// The flags' sampling, what they leave open as the target's generation_config.json wants it, and
  /// its end-of-text tokens as stops.
  const SamplingParams& sampling() const { return sampling_; }
  /// Among which the base's size is found; null: base() stays.
  const std::shared_ptr<const BaseLadder>& ladder() const { return decoding_.ladder; }
  /// There is a draft, and it scores every row of its head in every step.
  bool scores_full_head() const {
    return models_->has_draft() && base()->is_full_head() && ladder() == nullptr &&
           !decoding_.sketch_alone;
  }
  /// The flags' way to decode, over base() and with the sketch.
  const DecodingOptions& decoding() const { return decoding_; }

  /// KV slots one sequence needs at most: the longest prompt, its output and the draft tokens
  /// behind.
  int64_t max_sequence_slots() const;

 private:
  explicit Session(const RunFlags& flags)
      : flags_(flags),
        pool_(static_cast<int>(flags.num_threads)),
        sampling_(flags.sampling),
        decoding_(flags.decoding) {}

  void TakeSamplingDefaults();
  absl::Status EncodePrompts();
  absl::Status OpenBase();
  absl::Status OpenSketch();

  RunFlags flags_;  // what they leave open is set
  ThreadPool pool_;
  SamplingParams sampling_;
  std::unique_ptr<Models> models_;
  std::vector<Request> requests_;
  DecodingOptions decoding_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_SESSION_H_
