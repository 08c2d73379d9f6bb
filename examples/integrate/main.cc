// Example of a foreign engine with toy models. It drafts over an active vocabulary that learns:
// each step takes one snapshot, drafts, verifies and observes. The output must equal the target's
// own.

#include <cmath>
#include <cstdio>
#include <iterator>
#include <vector>

#include "shortlist/head/pruned_head.h"
#include "shortlist/vocab/dynamic_vocabulary_manager.h"

using namespace shortlist;

constexpr int64_t kVocabSize = 8000, kHidden = 32, kDraftLength = 4, kNumTokens = 400;

struct ForeignEngine {
  std::vector<float> target, draft;
  ForeignEngine() : target(kVocabSize * kHidden), draft(target.size()) {
    for (size_t i = 0; i < target.size(); ++i) {
      target[i] = std::sin(0.7f * static_cast<float>(i) + 1e-7f * static_cast<float>(i * i));
      draft[i] = std::round(8 * target[i]) / 8;
    }
  }
  // Hidden state of the token at a position: [1, kHidden].
  std::vector<float> State(TokenId token, int64_t position) const {
    std::vector<float> state(kHidden);
    for (int64_t k = 0; k < kHidden; ++k) {
      state[k] = target[(Raw(token) * kHidden + 7 * k + position % 5) % target.size()];
    }
    return state;
  }
};

int main() {
  const ForeignEngine engine;
  ThreadPool pool(2);
  const auto head_of = [&](const std::vector<float>& weight) {
    return *PrunedHead::Create({weight.data(), DType::kF32, kVocabSize, kHidden}, kVocabSize, pool);
  };
  PrunedHead target = head_of(engine.target), draft = head_of(engine.draft);
  const auto full = ActiveVocab::FullHead(kVocabSize);
  const auto best = [&](PrunedHead& head, const ActiveVocab& active, TokenId last, int64_t at) {
    const std::vector<float> state = engine.State(last, at);
    return (*head.Argmax({state.data(), 1}, {active}))[0].id;
  };

  std::vector<TokenId> base;
  for (int32_t id = 0; id < 100; ++id) base.push_back(TokenId{id});
  const auto fixed = *VocabBase::Create(base, kVocabSize);
  auto vocab = *DynamicVocabularyManager::Create(fixed, {.dynamic_capacity = 300, .pinned = {}});
  std::vector<TokenId> plain = {TokenId{1}}, output = plain;
  while (std::ssize(plain) <= kNumTokens) {
    plain.push_back(best(target, *full, plain.back(), std::ssize(plain)));
  }

  int64_t steps = 0;
  for (; std::ssize(output) <= kNumTokens; ++steps) {
    const auto active = vocab->Active();  // fixed for the whole step
    std::vector<TokenId> drafted, emitted;
    TokenId last = output.back();
    for (int64_t i = 0; i < kDraftLength; ++i) {
      drafted.push_back(last = best(draft, *active, last, std::ssize(output) + i));
    }
    last = output.back();
    for (int64_t i = 0; i <= kDraftLength; ++i) {  // a real engine verifies all of them in one pass
      emitted.push_back(last = best(target, *full, last, std::ssize(output) + i));
      if (i == kDraftLength || last != drafted[i]) break;
    }
    output.insert(output.end(), emitted.begin(), emitted.end());
    if (!vocab->Observe(emitted, drafted, active.get()).ok()) return 1;
  }
  output.resize(plain.size());
  const VocabStats stats = vocab->Stats();
  std::printf("%.2f tokens a step, coverage %.1f %%, %d rows of %d, unmapped %d, output %s\n",
              1.0 * kNumTokens / steps, 100.0 * stats.num_covered() / stats.num_emitted,
              int(vocab->ActiveSize()), int(kVocabSize), int(stats.num_unmapped),
              output == plain ? "the target's" : "WRONG");
  return output == plain && stats.num_unmapped == 0 ? 0 : 1;
}
