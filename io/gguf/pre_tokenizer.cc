#include "io/gguf/pre_tokenizer.h"

#include <utility>

#include "absl/strings/str_replace.h"

namespace shortlist {
namespace {

using nlohmann::json;

/// Contractions, words, numbers, punctuation and white space. %D: how many digits a number has; %M:
/// marks that belong to words.
constexpr char kWords[] =
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}%M]+|\\p{N}%D| "
    "?[^\\s\\p{L}%M\\p{N}]+[\\r\\n]*"
    "|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+";

/// A split by kWords, and the bytes' alphabet.
json WordSplit(const std::string& digits, const std::string& marks = "") {
  const std::string pattern = absl::StrReplaceAll(kWords, {{"%D", digits}, {"%M", marks}});
  return {{{"type", "Split"},
           {"pattern", {{"Regex", pattern}}},
           {"behavior", "Isolated"},
           {"invert", false}},
          ByteLevel(false)};
}

}  // namespace

json ByteLevel(bool use_regex) {
  return {{"type", "ByteLevel"},
          {"add_prefix_space", false},
          {"trim_offsets", false},
          {"use_regex", use_regex}};
}

std::optional<PreTokenizer> FindPreTokenizer(const std::string& name) {
  if (name == "qwen2") return PreTokenizer{{{"type", "NFC"}}, WordSplit("")};
  if (name == "qwen35") return PreTokenizer{{{"type", "NFC"}}, WordSplit("", /*marks=*/"\\p{M}")};
  if (name == "llama-bpe")
    return PreTokenizer{json(), WordSplit("{1,3}"), /*ignore_merges=*/true, /*adds_bos=*/true};
  if (name == "gpt-2") return PreTokenizer{json(), json::array({ByteLevel(true)})};
  if (name == "smollm") {
    json digits = {{"type", "Digits"}, {"individual_digits", true}};
    return PreTokenizer{json(), json::array({std::move(digits), ByteLevel(true)})};
  }
  return std::nullopt;
}

}  // namespace shortlist
