#ifndef SHORTLIST_RUNTIME_ENGINE_H_
#define SHORTLIST_RUNTIME_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "request/sampling_params.h"
#include "request/sequence.h"
#include "request/sequence_stats.h"
#include "router/router.h"
#include "router/scheduler_options.h"
#include "runtime/decoding_options.h"
#include "runtime/model_options.h"
#include "vocab/vocab_options.h"

namespace shortlist {

class ChainDrafter;
class Models;
class SketchFitter;
class ThreadPool;
class VocabSizer;
struct Decoding;

/// Models, decoding and a Router in one object, for programs that generate text.
///
///   auto engine = *Engine::Open({.models = {.model = "models/demo/target",
///                                           .draft = "models/demo/draft"},
///                                .vocab =
///                                *ParseVocabFlag("vocab_lists/demo.vocab.json:top=2048")});
///   std::cout << engine->Generate("Once upon a time", {.max_new_tokens = 100})->text;
///
/// Used by one thread at a time.
class Engine {
 public:
  struct Options {
    ModelOptions models;
    int64_t num_threads = 0;  // 0: the number of hardware threads
    VocabOptions vocab;       // default: the full head, or the rows that a sketch chooses
    // Dynamic rows of each request (`decoding` has the shared ones). Null: none, or
    // SketchOptions::kTailRows for a sketch without a list.
    std::optional<int64_t> num_tail_rows;
    SketchOptions sketch;        // additional rows of each draft token, or all of them
    DecodingOptions decoding;    // `vocab` sets its base, `sketch` its sketch
    SchedulerOptions scheduler;  // as for Create()
  };

  static absl::StatusOr<std::unique_ptr<Engine>> Open(Options options);
  ~Engine();

  /// `models` must be loaded and must outlive the engine. max_total_tokens 0: chosen by
  /// ChooseNumSlots from the free memory. context_length 0: the model's. The Router also serves
  /// `encoders`.
  static absl::StatusOr<std::unique_ptr<Engine>> Create(Models& models,
                                                        const DecodingOptions& decoding,
                                                        SchedulerOptions scheduler,
                                                        std::vector<Router::Encoder> encoders = {});

  struct Output {
    std::vector<TokenId> ids;
    std::string text;  // of the ids, without stop tokens
    FinishReason finish_reason = FinishReason::kNone;
    SequenceStats stats;
  };
  /// Called with each new piece of text; exceptions propagate to the caller.
  using OnText = std::function<void(std::string_view)>;

  /// Continues `prompt` as the only request, up to the model's end of text or one of the params'
  /// stops. Control tokens spelled in `prompt` become those tokens. Returns InvalidArgument for a
  /// prompt or params that do not fit. Precondition: router().idle().
  absl::StatusOr<Output> Generate(const std::string& prompt, SamplingParams params,
                                  const OnText& on_text = {});

  Models& models() { return models_; }
  Router& router() { return *router_; }
  const Router& router() const { return *router_; }
  const SpeculativeEngine& speculative() const;
  /// Null: plain decoding.
  ChainDrafter* drafter();
  /// Null: plain decoding.
  DynamicVocabularyManager* vocab();
  const DynamicVocabularyManager* vocab() const;
  /// Null: the sketch, if any, is fixed.
  const SketchFitter* sketch_fitter() const;
  /// Null: the sizes are fixed.
  VocabSizer* sizer();
  const VocabSizer* sizer() const;

 private:
  explicit Engine(Models& models);

  // Only for Open(); in this order, as each depends on the previous one.
  std::unique_ptr<ThreadPool> own_pool_;
  std::unique_ptr<Models> own_models_;

  Models& models_;
  int64_t num_tail_rows_ = 0;
  std::unique_ptr<Decoding> decoding_;
  std::unique_ptr<Router> router_;
};

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_ENGINE_H_
