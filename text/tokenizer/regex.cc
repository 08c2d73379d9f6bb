#include "text/tokenizer/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

constexpr size_t kMaxPatternBytes = 64 << 10;
constexpr uint32_t kMatchLimit = 5'000'000;
constexpr uint32_t kDepthLimit = 1'000'000;
constexpr uint32_t kHeapLimitKib = 256 << 10;
constexpr size_t kJitStackBytes = 256 << 10;
// Number of positions of a text that are tried between two checks of the time.
constexpr size_t kPlacesPerRun = 64;

/// Returns Oniguruma's meaning of the escape \`letter`, as the inside of a PCRE2 class; empty if
/// both engines agree.
std::string_view ClassOfEscape(char letter) {
  switch (letter) {
    case 's':
      return "\\p{White_Space}";
    case 'd':
      return "\\p{Nd}";
    case 'w':
      return "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}";
    case 'h':
      return "0-9A-Fa-f";
    default:
      return {};
  }
}

/// Oniguruma's \w outside of classes, which includes six Latin-1 characters more, and its meaning
/// for the sides of \b.
constexpr char kWord[] =
    "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}]";
constexpr char kNoWord[] =
    "[^\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{B2}\\x{B3}\\x{B9}\\x{BC}-\\x{BE}]";

/// A bracket such as [:alpha:], and [:^alpha:], with Oniguruma's meaning; empty if a class cannot
/// express it.
struct Bracket {
  std::string_view name;
  std::string_view members;
  std::string_view others;
};
constexpr Bracket kBrackets[] = {
    {"alpha", "\\p{Alphabetic}", "\\P{Alphabetic}"},
    {"alnum", "\\p{Alphabetic}\\p{Nd}", ""},
    {"digit", "\\p{Nd}", "\\P{Nd}"},
    {"lower", "\\p{Lowercase}", "\\P{Lowercase}"},
    {"upper", "\\p{Uppercase}", "\\P{Uppercase}"},
    {"space", "\\p{White_Space}", "\\P{White_Space}"},
    {"cntrl", "\\p{Cc}", "\\P{Cc}"},
    {"punct", "\\p{P}\\p{S}", "\\p{L}\\p{M}\\p{N}\\p{Z}\\p{C}"},
    {"graph", "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}", "\\p{Z}\\p{Cc}\\p{Cs}\\p{Cn}"},
    {"print", "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}\\p{Zs}",
     "\\p{Zl}\\p{Zp}\\p{Cc}\\p{Cs}\\p{Cn}"},
    {"blank", "\\p{Zs}\\t", ""},
    {"xdigit", "0-9A-Fa-f", ""},
    {"word", "\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}", ""},
    {"ascii", "\\x{0}-\\x{7F}", "\\x{80}-\\x{10FFFF}"},
};

absl::Status Refuse(std::string_view pattern, size_t offset, std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("regular expression \"", Excerpt(pattern),
                                                 "\": ", std::string(what), " at byte ", offset));
}

/// Writes an Oniguruma pattern in PCRE2's syntax.
class Translator {
 public:
  explicit Translator(std::string_view pattern) : pattern_(pattern) {}

  absl::StatusOr<std::string> Run() {
    while (at_ < pattern_.size()) {
      if (pattern_[at_] == '\\' && at_ + 1 < pattern_.size()) {
        SHORTLIST_RETURN_IF_ERROR(Escape());
      } else if (in_class_) {
        SHORTLIST_RETURN_IF_ERROR(InClass());
      } else {
        if (pattern_[at_] == '[')
          BeginClass();
        else
          out_.push_back(pattern_[at_++]);
      }
    }
    return std::move(out_);
  }

 private:
  bool At(std::string_view word) const { return pattern_.substr(at_, word.size()) == word; }
  void Copy(size_t count) {
    out_.append(pattern_.substr(at_, count));
    at_ += count;
  }

  void BeginClass() {
    in_class_ = true;
    Copy(At("[^") ? 2 : 1);
    if (At("]")) {  // as the first character of a class it is literal
      out_.append("\\]");
      ++at_;
    }
  }

  absl::Status InClass() {
    if (At("&&")) return Refuse(pattern_, at_, "set intersection is not supported");
    if (At("[:")) return BracketInClass();
    if (At("[")) return Refuse(pattern_, at_, "a class within a class is not supported");
    if (At("]")) in_class_ = false;
    Copy(1);
    return absl::OkStatus();
  }

  absl::Status BracketInClass() {
    const bool negated = At("[:^");
    const size_t begin = at_ + (negated ? 3 : 2);
    const size_t end = pattern_.find(":]", begin);
    if (end == std::string_view::npos) return Refuse(pattern_, at_, "[: without :]");
    const std::string_view name = pattern_.substr(begin, end - begin);
    const auto* const found = std::find_if(std::begin(kBrackets), std::end(kBrackets),
                                           [&](const Bracket& b) { return b.name == name; });
    const bool is_known = found != std::end(kBrackets);
    const std::string_view inside = !is_known ? "" : negated ? found->others : found->members;
    if (inside.empty()) {
      return Refuse(pattern_, at_,
                    absl::StrCat("[:", negated ? "^" : "", Excerpt(std::string(name)),
                                 ":] is not supported"));
    }
    out_.append(inside);
    at_ = end + 2;
    return absl::OkStatus();
  }

  /// \b and \B outside of classes.
  void Boundary(bool negated) {
    absl::StrAppend(&out_, "(?:(?<=", kWord, ")(?", negated ? "=" : "!", kWord, ")|(?<!", kWord,
                    ")(?", negated ? "!" : "=", kWord, "))");
    at_ += 2;
  }

  absl::Status Escape() {
    const char letter = pattern_[at_ + 1];
    const char lower = static_cast<char>(letter | 0x20);
    const std::string inside(ClassOfEscape(lower));
    if (letter == 'K') return Refuse(pattern_, at_, "\\K is not supported");
    // PCRE2 10.42 joins two pictographs, as in "\U0001F600\U0001F600", to one cluster.
    if (letter == 'X') return Refuse(pattern_, at_, "\\X is not supported");
    if (!in_class_ && lower == 'b') {
      Boundary(/*negated=*/letter == 'B');
      return absl::OkStatus();
    }
    if (!in_class_ && lower == 'w') {
      out_.append(letter == 'w' ? kWord : kNoWord);
      at_ += 2;
      return absl::OkStatus();
    }
    if (inside.empty()) {
      Copy(2);
      return absl::OkStatus();
    }
    if (in_class_ && (letter == 'W' || letter == 'H')) {
      return Refuse(pattern_, at_, "\\W and \\H in a class are not supported");
    }
    if (letter == lower) {
      absl::StrAppend(&out_, in_class_ ? "" : "[", inside, in_class_ ? "" : "]");
    } else if (in_class_) {
      out_.append(letter == 'S' ? "\\P{White_Space}" : "\\P{Nd}");
    } else {
      absl::StrAppend(&out_, "[^", inside, "]");
    }
    at_ += 2;
    return absl::OkStatus();
  }

  const std::string_view pattern_;
  std::string out_;
  size_t at_ = 0;
  bool in_class_ = false;
};

/// The state that matching needs in addition to the code; one per thread.
class MatchState {
 public:
  MatchState()
      : data_(pcre2_match_data_create(1, nullptr)),
        context_(pcre2_match_context_create(nullptr)),
        stack_(pcre2_jit_stack_create(32 << 10, kJitStackBytes, nullptr)) {
    pcre2_set_match_limit(context_, kMatchLimit);
    pcre2_set_depth_limit(context_, kDepthLimit);
    pcre2_set_heap_limit(context_, kHeapLimitKib);
    pcre2_jit_stack_assign(context_, nullptr, stack_);
  }
  ~MatchState() {
    pcre2_match_data_free(data_);
    pcre2_match_context_free(context_);
    pcre2_jit_stack_free(stack_);
  }
  MatchState(const MatchState&) = delete;
  MatchState& operator=(const MatchState&) = delete;

  /// Finds a match that begins in [from, last].
  int Run(const pcre2_code* code, std::string_view text, size_t from, size_t last) {
    pcre2_set_offset_limit(context_, last);
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    int count = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK, data_, context_);
    if (count == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter keeps its state on the heap
      count = pcre2_match(code, subject, text.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                          data_, context_);
    }
    return count;
  }
  Match match() const {
    const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(data_);
    return {offsets[0], offsets[1]};
  }

 private:
  pcre2_match_data* const data_;
  pcre2_match_context* const context_;
  pcre2_jit_stack* const stack_;
};

std::string ErrorText(int code) {
  char buffer[256] = "";
  pcre2_get_error_message(code, reinterpret_cast<PCRE2_UCHAR*>(buffer), sizeof(buffer));
  return buffer;
}

}  // namespace

struct Regex::Code {
  ~Code() { pcre2_code_free(compiled); }
  pcre2_code* compiled = nullptr;
  std::string pattern;
  bool sees_begin_of_run = false;  // the pattern has \G, which matches there: a search is one run
};

Regex::Regex(std::unique_ptr<Code> code) : code_(std::move(code)) {}
Regex::~Regex() = default;
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;

absl::StatusOr<Regex> Regex::Compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return Refuse(pattern, pattern.size(), absl::StrCat("more than ", kMaxPatternBytes, " bytes"));
  }
  SHORTLIST_ASSIGN_OR_RETURN(const std::string translated, Translator(pattern).Run());
  auto code = std::make_unique<Code>();
  code->pattern = pattern.substr(0, 200);
  code->sees_begin_of_run = pattern.find("\\G") != std::string_view::npos;
  int error = 0;
  PCRE2_SIZE offset = 0;
  code->compiled = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT,
      &error, &offset, nullptr);
  if (code->compiled == nullptr) return Refuse(translated, offset, ErrorText(error));
  pcre2_jit_compile(code->compiled, PCRE2_JIT_COMPLETE);  // without it, the interpreter runs
  return Regex(std::move(code));
}

absl::Status Regex::FindError(const absl::Status& why, std::string_view text, size_t from) const {
  return absl::InvalidArgumentError(absl::StrCat("regular expression \"", Excerpt(code_->pattern),
                                                 "\" at byte ", from, " of a text of ", text.size(),
                                                 " bytes: ", why.message()));
}

absl::StatusOr<std::optional<Match>> Regex::Find(std::string_view text, size_t from,
                                                 EncodeBudget* budget) const {
  static thread_local MatchState state;
  for (size_t begin = from;;) {
    if (budget != nullptr) {
      const absl::Status status = budget->CheckTime();
      if (!status.ok()) return FindError(status, text, begin);
    }
    size_t end =
        code_->sees_begin_of_run ? text.size() : std::min(begin + kPlacesPerRun, text.size());
    while (end < text.size() && (text[end] & 0xC0) == 0x80) ++end;
    // A match may begin at `end` only if `end` is the end of the text.
    const int count = state.Run(code_->compiled, text, begin, end < text.size() ? end - 1 : end);
    if (count >= 0) return state.match();
    if (count != PCRE2_ERROR_NOMATCH) {
      return FindError(absl::InvalidArgumentError(ErrorText(count)), text, begin);
    }
    if (end == text.size()) return std::nullopt;
    begin = end;
  }
}

}  // namespace shortlist
