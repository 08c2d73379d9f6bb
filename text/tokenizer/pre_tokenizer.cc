#include "text/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/metaspace.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/split_step.h"
#include "text/unicode.h"

namespace shortlist {
namespace {

using nlohmann::json;

// \w+|[^\w\s]+ with the meaning of Rust's regular expressions.
constexpr std::string_view kWords = R"([\w\p{Join_Control}]+|[^\w\p{Join_Control}\s]+)";

/// Puts a space before each piece that does not begin with one.
class LeadingSpaceStep final : public PreTokenizerStep {
 public:
  absl::Status Apply(TextPieces& pieces) const override {
    for (TextPiece& piece : pieces.pieces) {
      if (piece.text.starts_with(' ')) continue;
      SHORTLIST_ASSIGN_OR_RETURN(piece.text, pieces.Keep(" " + std::string(piece.text)));
    }
    return absl::OkStatus();
  }
};

/// Spells the bytes of each piece in GPT-2's alphabet.
class ByteAlphabetStep final : public PreTokenizerStep {
 public:
  absl::Status Apply(TextPieces& pieces) const override {
    for (TextPiece& piece : pieces.pieces) {
      std::string spelled;
      for (const char c : piece.text) AppendChar(ByteAlphabet()[static_cast<uint8_t>(c)], spelled);
      SHORTLIST_ASSIGN_OR_RETURN(piece.text, pieces.Keep(std::move(spelled)));
    }
    return absl::OkStatus();
  }
};

class MetaspaceStep final : public PreTokenizerStep {
 public:
  explicit MetaspaceStep(Metaspace metaspace) : metaspace_(std::move(metaspace)) {}

  absl::Status Apply(TextPieces& pieces) const override {
    pieces.next.clear();
    for (const TextPiece& piece : pieces.pieces) {
      SHORTLIST_ASSIGN_OR_RETURN(const std::string_view text, pieces.Keep(Rewrite(piece)));
      size_t begin = 0;
      while (metaspace_.split && begin < text.size()) {
        // A mark begins a piece.
        const size_t mark = text.find(metaspace_.replacement, begin + 1);
        if (mark == std::string_view::npos) break;
        SHORTLIST_RETURN_IF_ERROR(
            pieces.AddNext({text.substr(begin, mark - begin), piece.at_origin && begin == 0}));
        begin = mark;
      }
      SHORTLIST_RETURN_IF_ERROR(
          pieces.AddNext({text.substr(begin), piece.at_origin && begin == 0}));
    }
    std::swap(pieces.pieces, pieces.next);
    return absl::OkStatus();
  }

 private:
  std::string Rewrite(const TextPiece& piece) const {
    const bool prepends = metaspace_.prepend == Metaspace::Prepend::kAlways ||
                          (metaspace_.prepend == Metaspace::Prepend::kFirst && piece.at_origin);
    std::string text;
    if (prepends && !piece.text.starts_with(' ') &&
        !piece.text.starts_with(metaspace_.replacement)) {
      text = metaspace_.replacement;
    }
    for (const char c : piece.text) {
      if (c == ' ')
        text.append(metaspace_.replacement);
      else
        text.push_back(c);
    }
    return text;
  }

  const Metaspace metaspace_;
};

class SpaceMarkStep final : public PreTokenizerStep {
 public:
  absl::Status Apply(TextPieces& pieces) const override {
    constexpr std::string_view kMark = "\xE2\x96\x81";
    pieces.next.clear();
    for (const TextPiece& piece : pieces.pieces) {
      const std::string_view text = piece.text;
      size_t begin = 0;
      size_t end_of_marks = text.starts_with(kMark) ? kMark.size() : 0;
      for (size_t mark = text.find(kMark, end_of_marks); mark != std::string_view::npos;
           mark = text.find(kMark, end_of_marks)) {
        if (mark > end_of_marks) {  // after another character
          SHORTLIST_RETURN_IF_ERROR(
              pieces.AddNext({text.substr(begin, mark - begin), piece.at_origin && begin == 0}));
          begin = mark;
        }
        end_of_marks = mark + kMark.size();
      }
      SHORTLIST_RETURN_IF_ERROR(
          pieces.AddNext({text.substr(begin), piece.at_origin && begin == 0}));
    }
    std::swap(pieces.pieces, pieces.next);
    return absl::OkStatus();
  }
};

class Parser {
 public:
  explicit Parser(bool byte_words) : byte_words_(byte_words) {}

  absl::Status Add(const json& spec) {
    if (spec.is_null()) return absl::OkStatus();
    SHORTLIST_ASSIGN_OR_RETURN(const std::string type, ReadString(spec, "type"));
    if (type == "Sequence") {
      SHORTLIST_ASSIGN_OR_RETURN(const json* members, ReadArray(spec, "pretokenizers"));
      for (const json& member : *members) SHORTLIST_RETURN_IF_ERROR(Add(member));
      return absl::OkStatus();
    }
    if (result_.ends_in_byte_level) {  // another step follows
      Push(std::make_unique<ByteAlphabetStep>());
      result_.ends_in_byte_level = false;
    }
    SHORTLIST_RETURN_IF_ERROR(AddStep(type, spec));
    if (result_.steps.size() <= kMaxSteps) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("more than ", kMaxSteps, " steps"));
  }

  PreTokenizer Take() {
    if (result_.ends_in_byte_level && !byte_words_) {
      Push(std::make_unique<ByteAlphabetStep>());
      result_.ends_in_byte_level = false;
    }
    return std::move(result_);
  }

 private:
  void Push(std::unique_ptr<PreTokenizerStep> step) { result_.steps.push_back(std::move(step)); }

  absl::Status AddStep(const std::string& type, const json& spec) {
    result_.is_bert = false;
    if (type == "ByteLevel") return AddByteLevel(spec);
    if (type == "Split") return AddSplit(spec);
    if (type == "Metaspace") {
      SHORTLIST_ASSIGN_OR_RETURN(Metaspace metaspace, ParseMetaspace(spec));
      Push(std::make_unique<MetaspaceStep>(std::move(metaspace)));
    } else if (type == "BertPreTokenizer") {
      result_.is_bert = result_.steps.empty();
      Push(MakeCharacterSplitStep(kWhiteSpace, SplitBehavior::kRemoved));
      Push(MakeCharacterSplitStep(kPunctuation, SplitBehavior::kIsolated));
    } else if (type == "WhitespaceSplit") {
      Push(MakeCharacterSplitStep(kWhiteSpace, SplitBehavior::kRemoved));
    } else if (type == "Whitespace") {
      Pattern pattern;
      SHORTLIST_ASSIGN_OR_RETURN(pattern.regex, Regex::Compile(kWords));
      Push(MakeSplitStep(std::move(pattern), SplitBehavior::kRemoved, /*invert=*/true));
    } else if (type == "Punctuation") {
      SplitBehavior behavior = SplitBehavior::kIsolated;
      if (spec.contains("behavior")) {
        SHORTLIST_ASSIGN_OR_RETURN(behavior, ParseSplitBehavior(spec));
      }
      Push(MakeCharacterSplitStep(kPunctuation, behavior));
    } else if (type == "Digits") {
      SHORTLIST_ASSIGN_OR_RETURN(const bool single, ReadBool(spec, "individual_digits", false));
      Push(MakeCharacterSplitStep(kNumber,
                                  single ? SplitBehavior::kIsolated : SplitBehavior::kContiguous));
    } else if (type == "CharDelimiterSplit") {
      Pattern pattern;
      SHORTLIST_ASSIGN_OR_RETURN(pattern.literal, ReadString(spec, "delimiter"));
      const std::string& delimiter = pattern.literal;
      if (delimiter.empty() || SequenceSize(delimiter[0]) != delimiter.size()) {
        return absl::InvalidArgumentError(
            absl::StrCat("delimiter \"", Excerpt(delimiter), "\" is not one character"));
      }
      Push(MakeSplitStep(std::move(pattern), SplitBehavior::kRemoved, /*invert=*/false));
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("type \"", Excerpt(type), "\" is not supported"));
    }
    return absl::OkStatus();
  }

  absl::Status AddByteLevel(const json& spec) {
    SHORTLIST_ASSIGN_OR_RETURN(const bool add_prefix_space,
                               ReadBool(spec, "add_prefix_space", true));
    SHORTLIST_ASSIGN_OR_RETURN(const bool use_regex, ReadBool(spec, "use_regex", true));
    if (add_prefix_space) Push(std::make_unique<LeadingSpaceStep>());
    if (use_regex) Push(MakeTilingStep(SplitPattern::kGpt2));
    result_.ends_in_byte_level = true;
    return absl::OkStatus();
  }

  absl::Status AddSplit(const json& spec) {
    SHORTLIST_ASSIGN_OR_RETURN(Pattern pattern, ParsePattern(spec));
    SHORTLIST_ASSIGN_OR_RETURN(const SplitBehavior behavior, ParseSplitBehavior(spec));
    SHORTLIST_ASSIGN_OR_RETURN(const bool invert, ReadBool(spec, "invert", false));
    Push(MakeSplitStep(std::move(pattern), behavior, invert));
    return absl::OkStatus();
  }

  const bool byte_words_;
  PreTokenizer result_;
};

}  // namespace

bool PreTokenizer::drops_text() const {
  return std::any_of(steps.begin(), steps.end(),
                     [](const auto& step) { return step->drops_text(); });
}

absl::Status PreTokenizer::Run(size_t max_words, EncodeBudget& budget, TextPieces& pieces) const {
  pieces.budget = &budget;
  // The output of a step is bounded by `max_words` if no later step may drop pieces.
  const auto last_drop = std::find_if(steps.rbegin(), steps.rend(),
                                      [](const auto& step) { return step->drops_text(); });
  const auto first_bounded = last_drop.base() - (last_drop == steps.rend() ? 0 : 1);
  for (auto step = steps.begin(); step != steps.end(); ++step) {
    pieces.max_next = step < first_bounded ? std::numeric_limits<size_t>::max() : max_words;
    SHORTLIST_RETURN_IF_ERROR((*step)->Apply(pieces));
    const absl::Status status = budget.CheckTime();
    if (!status.ok()) return Within("pre_tokenizer", status);
  }
  return absl::OkStatus();
}

absl::StatusOr<PreTokenizer> ParsePreTokenizer(const json& spec, bool byte_words) {
  Parser parser(byte_words);
  const absl::Status status = parser.Add(spec);
  if (!status.ok()) return Within("pre_tokenizer", status);
  return parser.Take();
}

std::unique_ptr<PreTokenizerStep> MakeSpaceMarkStep() { return std::make_unique<SpaceMarkStep>(); }

}  // namespace shortlist
