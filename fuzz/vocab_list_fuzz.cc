// Vocabulary lists, as the project's own document and as plain text. After a NUL, the input may
// contain the options that a user appends to a file name. What parses is valid, survives a round
// trip through its own document, and gives a base.
//
//   fuzz_vocab_list -max_len=4096 CORPUS fuzz/seeds/vocab_list

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/json.h"
#include "fuzz/memory_file.h"
#include "nlohmann/json.hpp"
#include "vocab/vocab_list.h"
#include "vocab/vocab_options.h"

namespace shortlist {
namespace {

// A base takes memory in proportion to the vocabulary size, which a target bounds.
constexpr int64_t kMaxVocabSize = 1 << 16;

void CheckList(const VocabList& list, const std::string& flag) {
  SHORTLIST_CHECK(list.Validate().ok());
  const auto document = ParseJson(VocabListDocument(list), "document");
  SHORTLIST_CHECK(document.ok());
  const auto again = ParseVocabList(*document, {.vocab_size = list.vocab_size});
  SHORTLIST_CHECK(again.ok() && again->counts == list.counts && again->pinned == list.pinned);
  SHORTLIST_CHECK(again->ids == list.ids && again->successors == list.successors);
  if (list.vocab_size > kMaxVocabSize) return;
  auto options = ParseVocabFlag("list" + flag);
  if (!options.ok() || !options->use_static_vocab) return;
  const auto base = SelectVocabBase(*options, list, {.vocab_size = list.vocab_size});
  if (!base.ok()) SHORTLIST_CHECK(!base.status().message().empty());
}

void Run(const std::string& input) {
  const size_t nul = std::min(input.find('\0'), input.size());
  const std::string contents = input.substr(0, nul);
  const std::string flag = nul < input.size() ? input.substr(nul + 1) : "";
  ParseVocabFlag(flag).IgnoreError();

  const MemoryFile file(reinterpret_cast<const uint8_t*>(contents.data()), contents.size());
  const auto text = ReadVocabList(file.path(), {.vocab_size = 1000});
  if (text.ok()) CheckList(*text, flag);

  const auto document = ParseJson(contents, "input");
  if (!document.ok() || !document->is_object()) return;
  const auto size = document->find("vocab_size");
  if (size == document->end() || !size->is_number_integer()) return;
  const auto list = ParseVocabList(*document, {.vocab_size = size->get<int64_t>()});
  if (list.ok()) CheckList(*list, flag);
}

}  // namespace
}  // namespace shortlist

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shortlist::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
