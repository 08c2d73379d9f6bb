// Speculative decoding with a vocabulary-pruned draft, as a library: the shipped pair continues one
// prompt.
//   usage: example_library [directory of the repository]

#include <iostream>
#include <numeric>
#include <string>

#include "base/status_macros.h"
#include "draft/eagle_drafter.h"
#include "draft/engine.h"
#include "model/decoder.h"
#include "text/tokenizer.h"
#include "vocab/vocab_options.h"

namespace shortlist {
namespace {

absl::Status Run(const std::string& root) {
  constexpr int64_t kNumSlots = 256;
  ThreadPool pool(/*num_threads=*/2);
  const std::string target_dir = root + "/models/demo/target";
  SHORTLIST_ASSIGN_OR_RETURN(auto target, Decoder::Load(target_dir, /*dtype=*/std::nullopt, pool));
  SHORTLIST_ASSIGN_OR_RETURN(auto eagle,
                             EagleModel::Load(root + "/models/demo/draft", *target, pool));
  SHORTLIST_ASSIGN_OR_RETURN(auto tokenizer, OpenTokenizer(target_dir));

  // The active vocabulary: the 512 likeliest tokens, in each step up to 384 that most often follow
  // the last one, and up to 128 that the requests bring in.
  SHORTLIST_ASSIGN_OR_RETURN(
      const VocabOptions options,
      ParseVocabFlag(root + "/vocab_lists/demo.vocab.json:top=512:successors=384"));
  SHORTLIST_ASSIGN_OR_RETURN(
      auto base,
      SelectVocabBase(options, VocabTarget{target->config().vocab_size, tokenizer->Fingerprint()}));
  SHORTLIST_ASSIGN_OR_RETURN(
      auto vocab, DynamicVocabularyManager::Create(base, {.dynamic_capacity = 128, .pinned = {}}));

  SHORTLIST_ASSIGN_OR_RETURN(
      auto drafter, EagleDrafter::Create(*eagle, *target, kNumSlots, tokenizer->size(), pool));
  SHORTLIST_ASSIGN_OR_RETURN(
      auto engine,
      SpeculativeEngine::Create(*target, drafter.get(), vocab.get(),
                                {.num_slots = kNumSlots, .emit_size = tokenizer->size()}, pool));

  // One request. It owns all KV slots here; a scheduler would hand them out.
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<TokenId> prompt,
                             tokenizer->Encode("# `vector` class\n\nThe C++ Standard Library"));
  Sequence::Options request;
  request.sampling.temperature = 0.8;
  request.sampling.seed = 7;
  request.sampling.max_new_tokens = 100;
  SHORTLIST_ASSIGN_OR_RETURN(auto sequence,
                             Sequence::Create(prompt, request, target->config().vocab_size));
  std::vector<int32_t> kv_slots(kNumSlots);
  std::iota(kv_slots.begin(), kv_slots.end(), 0);

  const StepWork batch[] = {{sequence.get(), kv_slots}};
  while (!sequence->prefilled()) {
    SHORTLIST_RETURN_IF_ERROR(engine->Prefill(batch, /*max_tokens=*/512).status());
  }
  while (!sequence->finished()) {
    SHORTLIST_RETURN_IF_ERROR(engine->Step(batch).status());
  }

  std::cout << tokenizer->Decode(sequence->tokens()) << "\n\n"
            << sequence->stats.accept_length() << " tokens per verify step, coverage "
            << sequence->stats.coverage() << " with " << vocab->ActiveSize() << " of "
            << target->config().vocab_size << " rows\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace shortlist

int main(int argc, char** argv) {
  const absl::Status status = shortlist::Run(argc > 1 ? argv[1] : ".");
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}
