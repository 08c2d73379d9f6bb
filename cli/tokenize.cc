#include "cli/tokenize.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <iterator>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/counted.h"
#include "base/file.h"
#include "base/json.h"
#include "base/read_lines.h"
#include "base/status_macros.h"
#include "base/thread_pool.h"
#include "cli/warnings.h"
#include "io/model_source.h"
#include "io/quote.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxInputBytes = int64_t{4} << 30;
constexpr int64_t kMaxLineBytes = int64_t{64} << 20;  // of standard input
constexpr int64_t kMaxThreads = 1024;

void AddCommonFlags(CLI::App& command, TokenizeFlags& flags) {
  CLI::Option_group* source = command.add_option_group("Tokenizer", "Exactly one of");
  source
      ->add_option("--model", flags.model_dir,
                   "A Hugging Face model directory, or org/name[@revision] of the cache")
      ->type_name("DIR");
  source
      ->add_option("--tokenizer", flags.tokenizer_path,
                   "tokenizer.json, a SentencePiece model, or ranks in tiktoken's format")
      ->type_name("FILE");
  source->require_option(1);
  command.add_option("--input", flags.input_path, "Rows to read; standard input without it")
      ->type_name("FILE");
  command.add_flag("--jsonl", flags.jsonl, "Rows of the input are JSON");
  command.add_flag("--json", flags.json, "Rows of the output are JSON");
}

absl::StatusOr<std::unique_ptr<Tokenizer>> Open(const TokenizeFlags& flags) {
  if (flags.model_dir.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer,
                               OpenTokenizerFile(flags.tokenizer_path));
    PrintTokenizerWarnings(flags.tokenizer_path, *tokenizer);
    return tokenizer;
  }
  SHORTLIST_ASSIGN_OR_RETURN(const ModelSource source, ModelSource::Open(flags.model_dir));
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<Tokenizer> tokenizer, OpenTokenizer(source));
  PrintTokenizerWarnings(source.path(), *tokenizer);
  return tokenizer;
}

absl::StatusOr<std::vector<std::string>> ReadRows(const TokenizeFlags& flags, std::istream& in) {
  std::string contents;
  if (flags.input_path.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(
        contents, ReadLines(in, "standard input",
                            {.max_line_bytes = kMaxLineBytes, .max_bytes = kMaxInputBytes}));
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(contents, ReadFile(flags.input_path, kMaxInputBytes));
  }
  std::vector<std::string> rows;
  for (size_t begin = 0; begin < contents.size();) {
    const size_t end = std::min(contents.find('\n', begin), contents.size());
    rows.push_back(contents.substr(begin, end - begin));
    begin = end + 1;
  }
  return rows;
}

std::string Origin(const TokenizeFlags& flags, size_t row) {
  return absl::StrCat(flags.input_path.empty() ? "standard input" : flags.input_path, " line ",
                      row + 1);
}

absl::Status Refuse(const std::string& origin, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat(origin, ": ", what));
}

absl::StatusOr<std::string> TextOfRow(const std::string& row, const std::string& origin) {
  SHORTLIST_ASSIGN_OR_RETURN(json value, ParseJson(row, origin));
  for (const char* name : {"text", "prompt"}) {
    if (value.is_object() && value.contains(name)) {
      json member = value[name];
      value = std::move(member);
    }
  }
  if (!value.is_string()) {
    return Refuse(origin, "neither a string nor an object with the string \"text\" or \"prompt\"");
  }
  return value.get<std::string>();
}

/// `spelling` is the row's content, `id` its value if that is an integer of 64 bits.
absl::StatusOr<TokenId> CheckId(int64_t id, const json& spelling, int32_t size,
                                const std::string& origin) {
  if (id >= 0 && id < size) return TokenId{static_cast<int32_t>(id)};
  return Refuse(
      origin, absl::StrCat("token id ", Quote(spelling), " is not an integer in [0, ", size, ")"));
}

absl::StatusOr<std::vector<TokenId>> IdsOfJson(const std::string& row, int32_t size,
                                               const std::string& origin) {
  SHORTLIST_ASSIGN_OR_RETURN(json value, ParseJson(row, origin));
  if (value.is_object() && value.contains("ids")) value = json(value["ids"]);
  if (!value.is_array()) return Refuse(origin, "neither an array nor an object with \"ids\"");
  std::vector<TokenId> ids;
  for (const json& id : value) {
    // An unsigned number of 64 bits wraps to a negative one.
    const int64_t number = id.is_number_integer() ? id.get<int64_t>() : -1;
    SHORTLIST_ASSIGN_OR_RETURN(ids.emplace_back(), CheckId(number, id, size, origin));
  }
  return ids;
}

absl::StatusOr<std::vector<TokenId>> IdsOfText(std::string_view row, int32_t size,
                                               const std::string& origin) {
  std::vector<TokenId> ids;
  while (true) {
    const size_t begin = row.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos) return ids;
    row.remove_prefix(begin);
    const std::string word(row.substr(0, row.find_first_of(" \t\r")));
    row.remove_prefix(word.size());
    int64_t id = 0;
    if (!absl::SimpleAtoi(word, &id)) id = -1;
    SHORTLIST_ASSIGN_OR_RETURN(ids.emplace_back(), CheckId(id, word, size, origin));
  }
}

std::string FormatIds(const std::vector<TokenId>& ids, bool as_json) {
  std::string text = as_json ? "{\"ids\":[" : "";
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) text.push_back(as_json ? ',' : ' ');
    absl::StrAppend(&text, Raw(ids[i]));
  }
  return text + (as_json ? "]}\n" : "\n");
}

/// Results of the rows, in row order.
struct Encoded {
  std::vector<std::vector<TokenId>> ids;
  std::vector<absl::Status> statuses;
};

Encoded EncodeAll(const Tokenizer& tokenizer, const std::vector<std::string>& texts,
                  const TokenizeFlags& flags) {
  const EncodeOptions options{.add_special_tokens = flags.add_special_tokens,
                              .parse_special = flags.parse_special};
  Encoded encoded{.ids = std::vector<std::vector<TokenId>>(texts.size()),
                  .statuses = std::vector<absl::Status>(texts.size())};
  ThreadPool pool(static_cast<int>(flags.num_threads));
  struct Context {
    const Tokenizer& tokenizer;
    const std::vector<std::string>& texts;
    const EncodeOptions& options;
    Encoded& encoded;
  } context{tokenizer, texts, options, encoded};
  pool.Run(
      static_cast<int64_t>(texts.size()),
      [](void* raw, int64_t row) {
        const Context& c = *static_cast<const Context*>(raw);
        auto ids = c.tokenizer.Encode(c.texts[row], c.options);
        if (ids.ok())
          c.encoded.ids[row] = *std::move(ids);
        else
          c.encoded.statuses[row] = ids.status();
      },
      &context);
  return encoded;
}

void ReportSpeed(const std::vector<std::string>& texts, const Encoded& encoded, double seconds,
                 int64_t num_threads) {
  int64_t num_bytes = 0, num_tokens = 0;
  for (const std::string& text : texts) num_bytes += std::ssize(text);
  for (const auto& ids : encoded.ids) num_tokens += std::ssize(ids);
  std::cerr << absl::StrFormat(
      "tokenize: %s, %s, %s in %.6f s on %s, %.1f MB/s\n", Counted(std::ssize(texts), "text"),
      Counted(num_bytes, "byte"), Counted(num_tokens, "token"), seconds,
      Counted(num_threads, "thread"), static_cast<double>(num_bytes) / 1e6 / seconds);
}

}  // namespace

void AddTokenizeFlags(CLI::App& tokenize, TokenizeFlags& flags) {
  AddCommonFlags(tokenize, flags);
  tokenize.add_flag("!--no-special-tokens", flags.add_special_tokens, "Without BOS and the like");
  tokenize.add_flag("--parse-special", flags.parse_special,
                    "The spelling of a control token in the text is that token");
  flags.num_threads = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, kMaxThreads);
  tokenize.add_option("--threads", flags.num_threads, "CPU threads")
      ->check(CLI::Range(int64_t{1}, kMaxThreads))
      ->type_name("N");
}

void AddDetokenizeFlags(CLI::App& detokenize, TokenizeFlags& flags) {
  AddCommonFlags(detokenize, flags);
}

absl::Status Tokenize(const TokenizeFlags& flags, std::istream& in, std::ostream& out) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, Open(flags));
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<std::string> texts, ReadRows(flags, in));
  for (size_t row = 0; flags.jsonl && row < texts.size(); ++row) {
    SHORTLIST_ASSIGN_OR_RETURN(texts[row], TextOfRow(texts[row], Origin(flags, row)));
  }
  const auto begin = std::chrono::steady_clock::now();
  const Encoded encoded = EncodeAll(*tokenizer, texts, flags);
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
  for (size_t row = 0; row < texts.size(); ++row) {
    const absl::Status& status = encoded.statuses[row];
    if (!status.ok()) return Refuse(Origin(flags, row), std::string(status.message()));
  }
  for (const std::vector<TokenId>& ids : encoded.ids) out << FormatIds(ids, flags.json);
  ReportSpeed(texts, encoded, time.count(), flags.num_threads);
  return absl::OkStatus();
}

absl::Status Detokenize(const TokenizeFlags& flags, std::istream& in, std::ostream& out) {
  SHORTLIST_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, Open(flags));
  SHORTLIST_ASSIGN_OR_RETURN(const std::vector<std::string> rows, ReadRows(flags, in));
  std::string output;
  for (size_t row = 0; row < rows.size(); ++row) {
    const std::string origin = Origin(flags, row);
    SHORTLIST_ASSIGN_OR_RETURN(const std::vector<TokenId> ids,
                               flags.jsonl ? IdsOfJson(rows[row], tokenizer->size(), origin)
                                           : IdsOfText(rows[row], tokenizer->size(), origin));
    const std::string text = tokenizer->Decode(ids);
    output += flags.json ? json{{"text", text}}.dump() : text;
    output.push_back('\n');
  }
  out << output;
  return absl::OkStatus();
}

}  // namespace shortlist
