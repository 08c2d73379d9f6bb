// tokenizer.json: parse, then encode and decode. After a NUL, the input may contain a text.
//
//   fuzz_tokenizer -dict=fuzz/tokenizer.dict -max_len=4096 CORPUS fuzz/seeds/tokenizer

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "base/json.h"
#include "base/utf8.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_tokenizer.h"

namespace shortlist {
namespace {

const char* const kText =
    "Hello  wörld's 123\n\t<s>e\xCC\x81 \xE2\x96\x81 字 \xF0\x9F\x99\x82 [SEP] the \xC2\xA0";

void Run(const std::string& input) {
  const size_t nul = input.find('\0');
  const auto document = ParseJson(input.substr(0, nul), "input");
  if (!document.ok()) return;
  const auto tokenizer = ParseJsonTokenizer(*document, nlohmann::json::object());
  if (!tokenizer.ok()) return;
  for (const std::string& text : {std::string(kText), input.substr(std::min(nul, input.size()))}) {
    const auto ids = (*tokenizer)->Encode(text, {.parse_special = true});
    if (!ids.ok()) continue;
    for (const TokenId id : *ids) SHORTLIST_CHECK(Raw(id) >= 0 && Raw(id) < (*tokenizer)->size());
    SHORTLIST_CHECK((*tokenizer)->Encode(text, {.parse_special = true}) == ids);
    const size_t typed = std::min(text.find("<s>"), text.size());
    const ByteRange literal[] = {{0, typed}, {std::min(typed + 3, text.size()), text.size()}};
    if (typed > 0 && typed + 3 < text.size()) {
      (*tokenizer)->Encode(text, {.parse_special = true, .literal = literal}).IgnoreError();
    }
    SHORTLIST_CHECK(!FindInvalidUtf8((*tokenizer)->Decode(*ids)));
    (*tokenizer)->EncodeSequence(text, kText, {}, {.max_len = 9}).IgnoreError();
  }
}

}  // namespace
}  // namespace shortlist

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  shortlist::Run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
