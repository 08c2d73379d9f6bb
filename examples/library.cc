// Speculative decoding with a vocabulary-pruned draft as a library: the demo pair continues one
// prompt.
//   usage: example_library [directory of the repository]

#include <iostream>
#include <string>

#include "shortlist/base/status_macros.h"
#include "shortlist/runtime/engine.h"

namespace shortlist {
namespace {

absl::Status Run(const std::string& root) {
  // The active vocabulary: the 512 most likely tokens, per step up to 384 tokens that most often
  // follow the last one, and up to 128 tokens that the request adds.
  Engine::Options options{
      .models = {.model = root + "/models/demo/target", .draft = root + "/models/demo/draft"},
      .num_threads = 2,
      .num_tail_rows = 128};
  SHORTLIST_ASSIGN_OR_RETURN(
      options.vocab, ParseVocabFlag(root + "/vocab_lists/demo.vocab.json:top=512:successors=384"));
  SHORTLIST_ASSIGN_OR_RETURN(const auto engine, Engine::Open(options));
  SHORTLIST_ASSIGN_OR_RETURN(
      const Engine::Output output,
      engine->Generate("# `vector` class\n\nThe C++ Standard Library",
                       {.temperature = 0.8, .seed = 7, .max_new_tokens = 100},
                       [](std::string_view text) { std::cout << text << std::flush; }));
  std::cout << "\n\n"
            << output.stats.accept_length() << " tokens per verify step, coverage "
            << output.stats.coverage() << " with " << output.stats.active_rows << " rows\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace shortlist

int main(int argc, char** argv) {
  const absl::Status status = shortlist::Run(argc > 1 ? argv[1] : ".");
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
