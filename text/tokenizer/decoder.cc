#include "text/tokenizer/decoder.h"

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/hex.h"
#include "base/status_macros.h"
#include "base/utf8.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/metaspace.h"
#include "text/tokenizer/pattern.h"
#include "text/unicode.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr size_t kMaxSteps = 100;

std::string ReplaceAll(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  size_t done = 0;
  for (size_t at = text.find(from); !from.empty() && at != std::string_view::npos;
       at = text.find(from, done)) {
    out.append(text.substr(done, at - done)).append(to);
    done = at + from.size();
  }
  return out.append(text.substr(done));
}

/// Keeps a token that is not valid UTF-8, or on which a regular expression takes too many steps.
std::string ReplaceMatches(const Pattern& pattern, std::string token, const std::string& content) {
  if (FindInvalidUtf8(token).has_value()) return token;
  std::string out;
  size_t done = 0;
  const absl::Status status = pattern.ForEachMatch(token, /*budget=*/nullptr, [&](Match match) {
    out.append(token, done, match.begin - done).append(content);
    done = match.end;
    return absl::OkStatus();
  });
  return status.ok() ? out.append(token, done) : token;
}

std::string ReadByteToken(std::string token, bool) {
  if (!IsByteToken(token)) return token;
  return std::string(1, static_cast<char>(HexDigitValue(token[3]) * 16 + HexDigitValue(token[4])));
}

/// Cleans up English text, token by token, with the rules of the reference implementation.
std::string CleanUp(std::string token) {
  constexpr std::string_view kRules[][2] = {{" .", "."},     {" ?", "?"},           {" !", "!"},
                                            {" ,", ","},     {" ' ", "'"},          {" n't", "n't"},
                                            {" 'm", "'m"},   {" do not", " don't"}, {" 's", "'s"},
                                            {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) token = ReplaceAll(token, from, to);
  return token;
}

class Parser {
 public:
  explicit Parser(const std::string& end_of_word_suffix) : suffix_(end_of_word_suffix) {}

  absl::Status Add(const json& spec) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::string type, ReadString(spec, "type"));
    if (type == "Sequence") {
      SHORTLIST_ASSIGN_OR_RETURN(const json* members, ReadArray(spec, "decoders"));
      for (const json& member : *members) SHORTLIST_RETURN_IF_ERROR(Add(member));
      return absl::OkStatus();
    }
    if (type == "Strip") return AddStrip(spec);
    if (joined_by_ != nullptr && type != "Fuse") {
      return absl::InvalidArgumentError(
          absl::StrCat("type \"", Excerpt(type), "\" after ", joined_by_, " is not supported"));
    }
    if (type == "Fuse")
      joined_by_ = "Fuse";
    else if (type == "ByteLevel")
      AddByteLevel();
    else if (type == "ByteFallback")
      AddByteFallback();
    else if (type == "Metaspace")
      return AddMetaspace(spec);
    else if (type == "WordPiece")
      return AddWordPiece(spec);
    else if (type == "BPEDecoder")
      return AddBpe(spec);
    else if (type == "Replace")
      return AddReplace(spec);
    else
      return absl::InvalidArgumentError(
          absl::StrCat("type \"", Excerpt(type), "\" is not supported"));
    return absl::OkStatus();
  }

  void AddJoinWithSpaces() {
    decoder_.first_differs = true;
    decoder_.steps.push_back(
        [](std::string token, bool first) { return first ? token : " " + token; });
  }

  TokenDecoder Take() { return std::move(decoder_); }

 private:
  void AddByteLevel() {
    joined_by_ = "ByteLevel";
    decoder_.steps.push_back([suffix = suffix_](std::string token, bool) {
      const bool ends_word = !suffix.empty() && token.ends_with(suffix);
      if (ends_word) token.resize(token.size() - suffix.size());
      return BytesOfAlphabet(token) + (ends_word ? " " : "");
    });
  }

  void AddByteFallback() {
    decoder_.has_byte_tokens = true;
    decoder_.steps.push_back(ReadByteToken);
  }

  absl::Status AddMetaspace(const json& spec) {
    SHORTLIST_ASSIGN_OR_RETURN(const Metaspace metaspace, ParseMetaspace(spec));
    const bool strips = metaspace.prepend != Metaspace::Prepend::kNever;
    decoder_.first_differs = decoder_.first_differs || strips;
    decoder_.steps.push_back([metaspace, strips](std::string token, bool first) {
      return ReplaceAll(token, metaspace.replacement, first && strips ? "" : " ");
    });
    return absl::OkStatus();
  }

  absl::Status AddWordPiece(const json& spec) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::string prefix, ReadString(spec, "prefix", "##"));
    SHORTLIST_ASSIGN_OR_RETURN(const bool cleanup, ReadBool(spec, "cleanup", true));
    decoder_.first_differs = true;
    decoder_.steps.push_back([prefix, cleanup](std::string token, bool first) {
      if (!first) token = token.starts_with(prefix) ? token.substr(prefix.size()) : " " + token;
      return cleanup ? CleanUp(std::move(token)) : token;
    });
    return absl::OkStatus();
  }

  absl::Status AddBpe(const json& spec) {
    SHORTLIST_ASSIGN_OR_RETURN(const std::string suffix, ReadString(spec, "suffix", "</w>"));
    decoder_.strips_trailing_space = true;  // the suffix of the last token becomes nothing
    decoder_.steps.push_back(
        [suffix](std::string token, bool) { return ReplaceAll(token, suffix, " "); });
    return absl::OkStatus();
  }

  absl::Status AddReplace(const json& spec) {
    SHORTLIST_ASSIGN_OR_RETURN(Pattern pattern, ParsePattern(spec));
    SHORTLIST_ASSIGN_OR_RETURN(const std::string content, ReadString(spec, "content"));
    decoder_.steps.push_back([shared = std::make_shared<const Pattern>(std::move(pattern)),
                              content](std::string token, bool) {
      return ReplaceMatches(*shared, std::move(token), content);
    });
    return absl::OkStatus();
  }

  absl::Status AddStrip(const json& spec) {
    constexpr int64_t kMaxStrip = 1 << 20;
    SHORTLIST_ASSIGN_OR_RETURN(const std::string content, ReadString(spec, "content"));
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t start, ReadInteger(spec, "start", 0, kMaxStrip));
    SHORTLIST_ASSIGN_OR_RETURN(const int64_t stop, ReadInteger(spec, "stop", 0, kMaxStrip));
    if (joined_by_ != nullptr) {
      if (content != " " || start > 1 || stop > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("Strip of \"", content.substr(0, 80), "\", ", start, " at the start and ",
                         stop, " at the end, after ", joined_by_, " is not supported"));
      }
      decoder_.strips_leading_space = start == 1;
      return absl::OkStatus();
    }
    decoder_.steps.push_back([content, start, stop](std::string token, bool) {
      std::string_view rest = token;
      for (int64_t i = 0; i < start && !content.empty() && rest.starts_with(content); ++i) {
        rest.remove_prefix(content.size());
      }
      for (int64_t i = 0; i < stop && !content.empty() && rest.ends_with(content); ++i) {
        rest.remove_suffix(content.size());
      }
      return std::string(rest);
    });
    return absl::OkStatus();
  }

  const std::string suffix_;
  TokenDecoder decoder_;
  // The step after which all tokens are one text; null: none yet.
  const char* joined_by_ = nullptr;
};

}  // namespace

bool IsByteToken(std::string_view token) {
  return token.size() == 6 && token.starts_with("<0x") && token[5] == '>' &&
         HexDigitValue(token[3]) >= 0 && HexDigitValue(token[4]) >= 0;
}

absl::StatusOr<std::string> TokenDecoder::Read(std::string_view token, bool first) const {
  constexpr size_t kMaxGrowth = 16, kMinBytes = 256;
  const size_t max_bytes = kMaxGrowth * token.size() + kMinBytes;
  std::string text(token);
  for (const Step& step : steps) {
    text = step(std::move(text), first);
    if (text.size() <= max_bytes) continue;
    return absl::InvalidArgumentError(absl::StrCat("decoder: token \"", Excerpt(token),
                                                   "\" becomes longer than ", kMaxGrowth,
                                                   " times its bytes plus ", kMinBytes));
  }
  return text;
}

absl::StatusOr<TokenDecoder> ParseDecoder(const json& spec, const std::string& end_of_word_suffix) {
  Parser parser(end_of_word_suffix);
  if (spec.is_null()) {
    parser.AddJoinWithSpaces();
    return parser.Take();
  }
  const absl::Status status = parser.Add(spec);
  if (!status.ok()) return Within("decoder", status);
  TokenDecoder decoder = parser.Take();
  if (decoder.steps.size() <= kMaxSteps) return decoder;
  return absl::InvalidArgumentError(absl::StrCat("decoder: more than ", kMaxSteps, " steps"));
}

}  // namespace shortlist
