// tokenizer.model: load, then encode. After its last NUL, the input may contain a text to encode.
// The module that other programs open at run time (text/sentencepiece/model.h) is linked in.
//
//   fuzz_sentencepiece -max_len=8192 CORPUS fuzz/seeds/sentencepiece

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/check.h"
#include "base/utf8.h"
#include "text/sentencepiece/model.h"

extern "C" shortlist::SentencePieceModel::LoadResult ShortlistLoadSentencePiece(
    std::string_view serialized);

namespace shortlist {
namespace {

const char* const kText =
    "Hello  w\xC3\xB6rld's 123\n\t<s>e\xCC\x81 \xE2\x96\x81 \xE5\xAD\x97 \xF0\x9F\x99\x82 aaaab "
    "bab "
    "\xEF\xBC\xA1\xEF\xB7\xBA  ";

void CheckEncoding(const SentencePieceModel& model, std::string_view text) {
  const auto encoded = model.Encode(text);
  const auto* ids = std::get_if<std::vector<int32_t>>(&encoded);
  if (ids == nullptr) return;
  for (const int32_t id : *ids) SHORTLIST_CHECK(id >= 0 && id < model.size());
  if (const auto bound = model.max_token_bytes()) {
    SHORTLIST_CHECK(ids->size() * static_cast<size_t>(*bound) >= text.size());
  }
}

void Run(const std::string& input) {
  const auto loaded = ShortlistLoadSentencePiece(input);
  if (std::holds_alternative<std::string>(loaded)) {
    SHORTLIST_CHECK(std::get<std::string>(loaded).size() <= 400);
    return;
  }
  const auto& model = *std::get<std::unique_ptr<SentencePieceModel>>(loaded);
  size_t num_bytes = 0;
  for (int32_t id = 0; id < model.size(); ++id) num_bytes += model.bytes(id).size();
  SHORTLIST_CHECK(model.bos().value_or(0) < model.size() && model.eos().value_or(0) < model.size());
  SHORTLIST_CHECK(num_bytes <= input.size() + 1024 * (1 + input.size() / 4));
  CheckEncoding(model, kText);
  CheckEncoding(model, std::string("a\0\0b", 4) + std::string(100, 'a'));
  const std::string text = input.substr(input.rfind('\0') + 1);
  if (!FindInvalidUtf8(text).has_value()) CheckEncoding(model, text);
}

}  // namespace
}  // namespace shortlist

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shortlist::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
