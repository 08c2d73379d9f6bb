#ifndef SHORTLIST_CLI_SESSION_H_
#define SHORTLIST_CLI_SESSION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "base/thread_pool.h"
#include "cli/flags/flags.h"
#include "grammar/grammar_compiler.h"
#include "grammar/grammar_spec.h"
#include "model/checkpoint/generation_config.h"
#include "request/sampling_params.h"
#include "runtime/decoding.h"
#include "runtime/models.h"
#include "sketch/sketch.h"
#include "vocab/active_vocab.h"
#include "vocab/base_ladder.h"

namespace shortlist {

/// Input of one run of a subcommand: models, vocabulary base and encoded prompts, checked against
/// each other before anything is decoded. Used by one thread.
class Session {
 public:
  struct Request {
    std::string origin;              // see PromptRow::origin
    std::string source;              // see PromptRow::source
    std::vector<TokenId> token_ids;  // not empty, shorter than the target's context
  };

  /// Opens everything that `flags` name; cheap checks run before the weights are read. Returns
  /// errors of Models, or errors that name the mismatch: a prompt longer than the context (both
  /// lengths), a prompt id without a target row, a list of another tokenizer (both fingerprints),
  /// or more dynamic rows than the vocabulary has. Flags without effect are noted on stderr.
  static absl::StatusOr<std::unique_ptr<Session>> Open(const RunFlags& flags);

  const RunFlags& flags() const { return flags_; }
  ThreadPool& pool() { return pool_; }
  Models& models() { return *models_; }
  const Models& models() const { return *models_; }
  /// Requests from --prompt or --prompts; empty without either flag.
  const std::vector<Request>& requests() const { return requests_; }
  const std::shared_ptr<const VocabBase>& base() const { return decoding_.base; }
  /// Null if no sketch is requested or fitted yet, if the draft scores its full head, or without a
  /// draft.
  const std::shared_ptr<const Sketch>& sketch() const { return decoding_.sketch; }
  /// Sampling flags; for flags not given, the values of the target's generation_config.json. Its
  /// end-of-text tokens are stops.
  const SamplingParams& sampling() const { return sampling_; }
  /// What the flags make outputs follow, as sampling() has it compiled; nullopt: nothing.
  const std::optional<GrammarSpec>& grammar() const { return grammar_; }
  /// Sizes among which the base's size is chosen; null: base() is fixed.
  const std::shared_ptr<const BaseLadder>& ladder() const { return decoding_.ladder; }
  /// True if there is a draft that scores every row of its head in every step.
  bool scores_full_head() const {
    return models_->has_draft() && base()->is_full_head() && ladder() == nullptr &&
           !decoding_.sketch_alone;
  }
  /// Decoding options of the flags, with base() and sketch().
  const DecodingOptions& decoding() const { return decoding_; }

  /// Maximum number of KV slots of one sequence: the longest prompt, its output and the draft
  /// tokens after it.
  int64_t max_sequence_slots() const;

 private:
  explicit Session(const RunFlags& flags)
      : flags_(flags),
        pool_(static_cast<int>(flags.num_threads)),
        sampling_(flags.sampling),
        decoding_(flags.decoding) {}

  void TakeSamplingDefaults();
  absl::Status EncodePrompts();
  absl::Status CompileGrammar();
  absl::Status OpenBase();
  absl::Status OpenSketch();
  void NoteTaps() const;

  RunFlags flags_;  // unset fields are filled in
  ThreadPool pool_;
  SamplingParams sampling_;
  std::unique_ptr<Models> models_;
  std::optional<GrammarSpec> grammar_;
  std::unique_ptr<GrammarCompiler> grammars_;  // null: no grammar is requested
  std::vector<Request> requests_;
  DecodingOptions decoding_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_SESSION_H_
