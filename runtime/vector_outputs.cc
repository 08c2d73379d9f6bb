#include "runtime/vector_outputs.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_bad_alloc.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "embed/masked_lm_head.h"
#include "embed/sentence_transformers.h"
#include "embed/splade_pooler.h"
#include "head/pruned_head.h"
#include "model/checkpoint.h"

namespace shortlist {
namespace {

/// Items [first, last) of a pass that need the same output, with their states.
struct ItemRun {
  int64_t first = 0, last = 0;
  const float* data = nullptr;
  int64_t hidden = 0;
  std::vector<int32_t> seq_begin;  // starts at 0

  HiddenStates view() const { return {data, hidden, seq_begin}; }
};

/// Groups adjacent items that want the output.
std::vector<ItemRun> RunsOf(EncodingItems items, const EncodedStates& states,
                            const std::vector<EncodeResult>& results,
                            const std::function<bool(const EncodeWish&)>& wants) {
  std::vector<ItemRun> runs;
  const HiddenStates all = states.view();
  for (int64_t i = 0; i < std::ssize(items); ++i) {
    if (!results[i].status.ok() || !wants(*items[i].wish)) continue;
    if (runs.empty() || runs.back().last != i) {
      const float* const data = all.data + all.seq_begin[i] * all.hidden;
      runs.push_back({.first = i, .last = i, .data = data, .hidden = all.hidden, .seq_begin = {0}});
    }
    ItemRun& run = runs.back();
    run.last = i + 1;
    run.seq_begin.push_back(all.seq_begin[i + 1] - all.seq_begin[run.first]);
  }
  return runs;
}

/// Tokens with one of `spellings`; if null, all special tokens.
std::vector<TokenId> FindTokens(const Tokenizer& tokenizer,
                                const std::optional<std::vector<std::string>>& spellings) {
  std::vector<TokenId> ids;
  for (int32_t raw = 0; raw < tokenizer.size(); ++raw) {
    const TokenId id{raw};
    const bool is_one = spellings ? std::find(spellings->begin(), spellings->end(),
                                              tokenizer.Spelling(id)) != spellings->end()
                                  : tokenizer.IsSpecial(id);
    if (is_one) ids.push_back(id);
  }
  return ids;
}

}  // namespace

absl::StatusOr<std::unique_ptr<VectorOutputs>> VectorOutputs::Load(const ModelSource& source,
                                                                   EmbeddingConfig config,
                                                                   const EncodingBody& body,
                                                                   const Tokenizer& tokenizer,
                                                                   ThreadPool& pool) {
  if (config.hidden != body.config().hidden) {
    return absl::InvalidArgumentError(absl::StrCat(source.path(), ": pools states of ",
                                                   config.hidden, " values, the model has ",
                                                   body.config().hidden));
  }
  SHORTLIST_ASSIGN_OR_RETURN(Pooler pooler, Pooler::Load(config, pool));
  if (config.truncate_dim > pooler.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        source.path(), ": truncate_dim = ", config.truncate_dim, " of vectors of ", pooler.size()));
  }
  std::unique_ptr<VectorOutputs> outputs(
      new VectorOutputs(std::move(config), std::move(pooler), pool));
  SHORTLIST_RETURN_IF_ERROR(outputs->LoadSparse(body, tokenizer));
  if (outputs->config_.makes_multi_vector) {
    SHORTLIST_ASSIGN_OR_RETURN(outputs->multi_vector_,
                               MultiVectorHead::Load(outputs->config_.transformer,
                                                     outputs->config_.hidden, body.dtype(), pool));
  }
  return outputs;
}

absl::Status VectorOutputs::LoadSparse(const EncodingBody& body, const Tokenizer& tokenizer) {
  const ModelSource& source = config_.transformer;
  if (config_.sparse == SparseKind::kTokenWeights) {
    SHORTLIST_ASSIGN_OR_RETURN(const auto framing, ReadFramingTokens(source));
    SHORTLIST_ASSIGN_OR_RETURN(
        sparse_,
        TokenWeightPooler::Load(source, config_.hidden, FindTokens(tokenizer, framing), pool_));
  }
  if (config_.sparse != SparseKind::kSplade) return absl::OkStatus();
  return CatchBadAlloc(source.path(), [&]() -> absl::Status {
    SHORTLIST_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(source, WeightPacking()));
    // In addition to dense vectors, sparse vectors are optional for the checkpoint.
    if (config_.makes_dense && !MaskedLmHead::IsIn(checkpoint, body.config())) {
      return absl::OkStatus();
    }
    SHORTLIST_ASSIGN_OR_RETURN(MaskedLmHead head,
                               MaskedLmHead::Load(checkpoint, body.config(), body.dtype(), pool_));
    sparse_ = std::make_unique<SpladePooler>(std::move(head));
    return absl::OkStatus();
  });
}

absl::StatusOr<std::unique_ptr<VectorOutputs>> VectorOutputs::Over(const Decoder& decoder,
                                                                   ThreadPool& pool) {
  const ModelConfig& model = decoder.config();
  EmbeddingConfig config{.pooling = Pooling::kMean, .hidden = model.hidden};
  auto pooler = Pooler::Create({.pooling = Pooling::kMean, .hidden = model.hidden});
  SHORTLIST_CHECK(pooler.ok());
  std::unique_ptr<VectorOutputs> outputs(
      new VectorOutputs(std::move(config), *std::move(pooler), pool));
  SHORTLIST_ASSIGN_OR_RETURN(PrunedHead head,
                             PrunedHead::Create(decoder.head_weight(), model.vocab_size, pool));
  outputs->next_token_head_.emplace(std::move(head));
  return outputs;
}

int64_t VectorOutputs::result_size() const {
  if (!config_.makes_dense) return MaxSparseWeights(/*num_tokens=*/0);
  return config_.truncate_dim > 0 ? config_.truncate_dim : pooler_.size();
}

bool VectorOutputs::ReadsLastAlone(EncodingItems items) const {
  const bool pools_last = config_.makes_dense && config_.pooling == Pooling::kLast;
  if (items.empty()) return pools_last;
  return std::all_of(items.begin(), items.end(), [&](const EncodingLoop::Item& item) {
    const EncodeWish& wish = *item.wish;
    if (!wish.next_tokens.empty()) return true;
    return pools_last && !wish.sparse && !wish.multi_vector && wish.query == nullptr;
  });
}

absl::Status VectorOutputs::CheckWish(const EncodeWish& wish) const {
  if (!wish.next_tokens.empty()) {
    if (next_token_head_) return absl::OkStatus();
    return absl::InvalidArgumentError("this model predicts no next tokens");
  }
  if (wish.query == nullptr && wish.dense && !config_.makes_dense) {
    return absl::InvalidArgumentError("this model makes no dense vectors: ask for sparse ones");
  }
  if (wish.sparse && sparse_ == nullptr) {
    return absl::InvalidArgumentError("this model makes no sparse vectors");
  }
  if ((wish.multi_vector || wish.query != nullptr) && !multi_vector_) {
    return absl::InvalidArgumentError("this model makes no multi-vectors");
  }
  if (wish.query != nullptr && wish.query->empty()) {
    return absl::InvalidArgumentError("the query has no token with a vector");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<EncodeResult>> VectorOutputs::Run(EncodingItems items,
                                                             const EncodedStates& states) {
  std::vector<EncodeResult> results(items.size());
  for (size_t i = 0; i < items.size(); ++i) results[i].status = CheckWish(*items[i].wish);
  AddDense(items, states, results);
  if (sparse_ != nullptr) AddSparse(items, states, results);
  if (multi_vector_) AddMultiVectors(items, states, results);
  SHORTLIST_RETURN_IF_ERROR(AddNextTokens(items, states, results));
  return results;
}

void VectorOutputs::AddDense(EncodingItems items, const EncodedStates& states,
                             std::vector<EncodeResult>& results) const {
  const auto wants = [](const EncodeWish& wish) {
    return wish.dense && wish.query == nullptr && wish.next_tokens.empty();
  };
  for (const ItemRun& run : RunsOf(items, states, results, wants)) {
    std::vector<VectorRequest> requests;
    for (int64_t i = run.first; i < run.last; ++i) {
      const EncodeInput& input = *items[i].input;
      const EncodeWish& wish = *items[i].wish;
      int64_t num_prompt_tokens = input.num_prompt_tokens;
      // There is only the last state: 1 if it belongs to the prompt.
      if (states.last_alone) num_prompt_tokens = num_prompt_tokens < std::ssize(input.ids) ? 0 : 1;
      requests.push_back(
          {.dimensions = wish.dimensions == 0 ? config_.truncate_dim : wish.dimensions,
           .normalize = wish.normalizes,
           .num_prompt_tokens = num_prompt_tokens});
    }
    const SequenceVectors vectors = pooler_.Run(run.view(), requests, pool_);
    for (int64_t i = run.first; i < run.last; ++i) {
      const auto values = vectors.of_sequence(i - run.first);
      results[i].status = values.status();
      if (values.ok()) results[i].values.assign(values->begin(), values->end());
    }
  }
}

void VectorOutputs::AddSparse(EncodingItems items, const EncodedStates& states,
                              std::vector<EncodeResult>& results) const {
  const auto wants = [](const EncodeWish& wish) { return wish.sparse; };
  for (const ItemRun& run : RunsOf(items, states, results, wants)) {
    std::vector<TokenId> ids;
    std::vector<SparseCut> cuts;
    for (int64_t i = run.first; i < run.last; ++i) {
      ids.insert(ids.end(), items[i].input->ids.begin(), items[i].input->ids.end());
      SparseCut& cut = cuts.emplace_back(items[i].wish->sparse_cut);
      if (cut.top_n == 0) cut.top_n = config_.max_sparse_weights;
    }
    auto weights = sparse_->Run(run.view(), ids, cuts, pool_);
    for (int64_t i = run.first; i < run.last; ++i) {
      auto& of_item = weights[i - run.first];
      results[i].status = of_item.status();
      if (of_item.ok()) results[i].sparse = *std::move(of_item);
    }
  }
}

void VectorOutputs::AddMultiVectors(EncodingItems items, const EncodedStates& states,
                                    std::vector<EncodeResult>& results) const {
  const auto wants = [](const EncodeWish& wish) {
    return wish.multi_vector || wish.query != nullptr;
  };
  std::optional<MaxSim> scorer;
  const std::vector<float>* query = nullptr;  // the query in `scorer`
  for (const ItemRun& run : RunsOf(items, states, results, wants)) {
    const SequenceVectors vectors = multi_vector_->Run(run.view(), pool_);
    for (int64_t i = run.first; i < run.last; ++i) {
      const auto values = vectors.of_sequence(i - run.first);
      EncodeResult& result = results[i];
      result.status = values.status();
      if (!values.ok()) continue;
      const EncodeWish& wish = *items[i].wish;
      if (wish.multi_vector) result.multi_vector.assign(values->begin(), values->end());
      if (wish.query == nullptr) continue;
      if (query != wish.query.get()) {
        query = wish.query.get();
        scorer.emplace(*query, multi_vector_->width(), pool_);
      }
      const absl::StatusOr<float> score = scorer->Score(*values, pool_);
      result.status = score.status();
      if (score.ok()) result.values = {*score};
    }
  }
}

/// Adds the results of items that ask for next-token probabilities.
absl::Status VectorOutputs::AddNextTokens(EncodingItems items, const EncodedStates& states,
                                          std::vector<EncodeResult>& results) {
  std::vector<size_t> asking;
  std::vector<int64_t> last_rows;
  std::vector<NextTokenHead::Question> questions;
  for (size_t i = 0; i < items.size(); ++i) {
    const EncodeWish& wish = *items[i].wish;
    if (!results[i].status.ok() || wish.next_tokens.empty()) continue;
    asking.push_back(i);
    last_rows.push_back(states.seq_begin[i + 1] - 1);
    questions.push_back({wish.next_tokens, wish.scores == EncodeWish::Scores::kSoftmax});
  }
  if (asking.empty()) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(
      auto answers, next_token_head_->Answer(GatherRows(states.data, last_rows), questions));
  for (size_t k = 0; k < asking.size(); ++k) {
    EncodeResult& result = results[asking[k]];
    result.status = answers[k].status();
    if (answers[k].ok()) result.values = *std::move(answers[k]);
  }
  return absl::OkStatus();
}

}  // namespace shortlist
