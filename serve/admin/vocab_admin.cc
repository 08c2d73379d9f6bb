#include "serve/admin/vocab_admin.h"

#include <charconv>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/excerpt.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"
#include "serve/http/json_fields.h"

namespace shortlist {

namespace asio = boost::asio;
using nlohmann::json;

namespace {

constexpr size_t kMaxAddedIds = 65'536;

constexpr char kBaseOpenApi[] = R"({
  "summary": "Replace the base of the active vocabulary",
  "requestBody": {"required": true, "content": {"application/json": {"schema": {
    "type": "object", "properties": {
      "list": {"type": ["object", "null"]},
      "top": {"type": ["integer", "null"], "minimum": 1},
      "ratio": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1},
      "coverage": {"type": ["number", "null"], "exclusiveMinimum": 0, "maximum": 1},
      "successors": {"type": ["integer", "null"], "minimum": 1}}}}}},
  "responses": {"200": {"description": "Statistics"}, "default": {"description": "An error"}}})";

constexpr char kIdsOpenApi[] = R"({
  "summary": "Add ids to the dynamic part of the active vocabulary",
  "requestBody": {"required": true, "content": {"application/json": {"schema": {
    "type": "object", "required": ["ids"], "properties": {
      "ids": {"type": "array", "items": {"type": "integer", "minimum": 0}}}}}}},
  "responses": {"200": {"description": "Statistics"}, "default": {"description": "An error"}}})";

/// InvalidArgument names a query parameter that is empty, occurs twice, or is not `known`, the only
/// one allowed.
absl::Status CheckQuery(const HttpRequest& http, const std::string& known) {
  bool is_given = false;
  for (const auto& [name, value] : http.query) {
    if (name == "client" && name != known) {
      return absl::InvalidArgumentError(
          "query parameter \"client\": counts are of all clients together, none of one alone");
    }
    if (name != known) {
      return absl::InvalidArgumentError(absl::StrCat("query parameter \"", Excerpt(name),
                                                     "\" is not known here; there is ", known));
    }
    if (std::exchange(is_given, true)) {
      return absl::InvalidArgumentError(absl::StrCat("query parameter ", known, " is there twice"));
    }
    if (value.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("query parameter ", known, " is empty"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VocabAdmin::AddRoutes(RouteTable& table) {
  const auto of_client = [this](Work work, const char* file_name = "") {
    return RunOnWorker(work, "client", file_name);
  };
  for (Route route : {
           Route{.method = "GET", .path = "/vocab", .handler = of_client(&VocabAdmin::Ids)},
           Route{.method = "GET", .path = "/vocab/stats", .handler = of_client(&VocabAdmin::Stats)},
           Route{.method = "GET",
           .path = "/vocab/escapes",
           .handler = of_client(&VocabAdmin::Escapes, "escapes.vocab.json")},
           Route{.method = "GET",
           .path = "/vocab/counts",
           .handler = RunOnWorker(&VocabAdmin::Counts, "successors", "counts.vocab.json")},
           Route{.method = "POST",
           .path = "/vocab/base",
           .takes_json = true,
           .handler = of_client(&VocabAdmin::ReplaceBase),
           .openapi = kBaseOpenApi},
           Route{.method = "POST",
           .path = "/vocab/ids",
           .takes_json = true,
           .handler = of_client(&VocabAdmin::AddIds),
           .openapi = kIdsOpenApi},
       }) {
    route.access = Access::kAdmin;
    SHORTLIST_RETURN_IF_ERROR(table.Add(std::move(route)));
  }
  return absl::OkStatus();
}

/// `parameter`: the only allowed query parameter. `file_name`: suggested by browsers and `curl -OJ`
/// for saving the reply; empty: none.
Handler VocabAdmin::RunOnWorker(Work work, std::string parameter, std::string file_name) {
  return [this, work, parameter = std::move(parameter), file_name = std::move(file_name)](
             const HttpRequest& http, HttpResponse& response) -> asio::awaitable<absl::Status> {
    if (const absl::Status known = CheckQuery(http, parameter); !known.ok()) co_return known;
    const auto job = [&] { return (this->*work)(http); };
    absl::StatusOr<std::string> body =
        co_await options_.workers->Run(http.client, std::ssize(http.body), job);
    if (!body.ok()) co_return body.status();
    if (!file_name.empty()) {
      response.SetHeader("Content-Disposition",
                         absl::StrCat("attachment; filename=\"", file_name, "\""));
    }
    co_await response.Send(200, kJsonType, *std::move(body));
    co_return absl::OkStatus();
  };
}

absl::StatusOr<DynamicVocabularyManager*> VocabAdmin::Manager(const HttpRequest& http) const {
  const std::string client(http.Query("client"));
  if (!client.empty() && options_.manager != nullptr) {
    DynamicVocabularyManager* const own =
        options_.clients != nullptr ? options_.clients->Find(client) : nullptr;
    if (own != nullptr) return own;
    return absl::NotFoundError(
        absl::StrCat("client \"", Excerpt(client), "\" has no vocabulary of its own"));
  }
  if (options_.manager != nullptr) return options_.manager;
  return absl::FailedPreconditionError("there is no active vocabulary, since there is no draft");
}

absl::StatusOr<std::string> VocabAdmin::Ids(const HttpRequest& http) const {
  SHORTLIST_ASSIGN_OR_RETURN(DynamicVocabularyManager* const manager, Manager(http));
  const std::shared_ptr<const ActiveVocab> active = manager->Active();
  const std::span<const int32_t> rows = active->rows();
  return Dump(json{{"version", active->version()},
                   {"vocab_size", active->vocab_size()},
                   {"full_head", active->is_full_head()},
                   {"base_ids", rows.first(active->base_size())},
                   {"dynamic_ids", rows.subspan(active->base_size())}});
}

absl::StatusOr<std::string> VocabAdmin::Stats(const HttpRequest& http) const {
  SHORTLIST_ASSIGN_OR_RETURN(DynamicVocabularyManager* const manager, Manager(http));
  const VocabStats stats = manager->Stats();
  const auto coverage =
      stats.num_emitted == 0 ? json() : json(1.0 * stats.num_covered() / stats.num_emitted);
  json held;
  for (size_t source = 0; source < kNumRowSources; ++source) {
    held[RowSourceName(static_cast<RowSource>(source))] = stats.num_held[source];
  }
  return Dump(json{{"version", manager->Active()->version()},
                   {"full_head", manager->Active()->is_full_head()},
                   {"active_size", manager->ActiveSize()},
                   {"base_size", stats.base_size},
                   {"dynamic_size", stats.dynamic_size},
                   {"dynamic_capacity", stats.dynamic_capacity},
                   {"num_emitted", stats.num_emitted},
                   {"num_covered", stats.num_covered()},
                   {"num_drafted", stats.num_drafted},
                   {"num_unmapped", stats.num_unmapped},
                   {"num_added", stats.num_added},
                   {"num_evicted", stats.num_evicted},
                   {"num_held_by", std::move(held)},
                   {"coverage", coverage}});
}

absl::StatusOr<std::string> VocabAdmin::Escapes(const HttpRequest& http) const {
  SHORTLIST_ASSIGN_OR_RETURN(DynamicVocabularyManager* const manager, Manager(http));
  return List(manager->Escapes(), "escapes of a server");
}

absl::StatusOr<std::string> VocabAdmin::Counts(const HttpRequest& http) const {
  const std::string_view text = http.Query("successors");
  if (text.empty()) return List(options_.counts->Ranked(), "output of a server");
  int64_t max_successors = 0;
  const auto [stop, error] =
      std::from_chars(text.data(), text.data() + text.size(), max_successors);
  if (error != std::errc() || stop != text.data() + text.size() || max_successors < 1 ||
      max_successors > options_.target.vocab_size) {
    return absl::InvalidArgumentError(absl::StrCat("successors \"", Excerpt(text),
                                                   "\" not a number in [1, ",
                                                   options_.target.vocab_size, "]"));
  }
  std::vector<std::vector<TokenId>> successors = options_.counts->Successors(max_successors);
  successors.resize(options_.target.vocab_size);
  return List(options_.counts->Ranked(), "output of a server", std::move(successors));
}

absl::StatusOr<std::string> VocabAdmin::List(const std::vector<std::pair<TokenId, int64_t>>& ranked,
                                             const char* source,
                                             std::vector<std::vector<TokenId>> successors) const {
  if (ranked.empty()) return absl::NotFoundError("no token yet");
  VocabList list{.source = source,
                 .pinned = options_.pinned,
                 .ranked = true,
                 .successors = std::move(successors)};
  for (const auto& [id, count] : ranked) {
    list.ids.push_back(id);
    list.counts.push_back(count);
  }
  SHORTLIST_RETURN_IF_ERROR(BindList(options_.target, list));
  return VocabListDocument(list);
}

absl::StatusOr<std::string> VocabAdmin::ReplaceBase(const HttpRequest& http) const {
  if (options_.manager == nullptr) return Manager(http).status();
  SHORTLIST_ASSIGN_OR_RETURN(const json object, ParseRequestBody(http.body));
  JsonFields fields(object);
  const json* const document = fields.Find("list");
  const auto rows = [&](const char* name) {
    return fields.OptionalInteger(name, 1, options_.target.vocab_size);
  };
  const std::optional<int64_t> top = rows("top"), successors = rows("successors");
  std::optional<double> ratio, coverage;
  constexpr JsonFields::Range kShare{.low = 0, .high = 1, .above_low = true};
  if (fields.Find("ratio") != nullptr) ratio = fields.Number("ratio", 0, kShare);
  if (fields.Find("coverage") != nullptr) coverage = fields.Number("coverage", 0, kShare);
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());

  VocabOptions vocab = options_.vocab;
  if (document != nullptr || top || ratio || coverage) {
    vocab.use_static_vocab = true;
    vocab.top_n = top;
    vocab.ratio = ratio;
    vocab.coverage = coverage;
    const bool is_sized = top || ratio || coverage;
    if (is_sized) vocab.auto_size = false;
    if (!vocab.auto_size) vocab.min_rows = vocab.max_rows = std::nullopt;
  }
  if (document != nullptr || successors) vocab.successors = successors;
  if (document == nullptr && !vocab.use_static_vocab) {
    return absl::FailedPreconditionError("--vocab names no list to read again");
  }
  std::optional<VocabList> list;
  if (document != nullptr) {
    absl::StatusOr<VocabList> parsed = ParseVocabList(*document, options_.target);
    if (!parsed.ok()) {
      fields.Fail("list", parsed.status());
      return fields.status();
    }
    list = *std::move(parsed);
    vocab.custom_vocab_path = "list";
  }
  SHORTLIST_RETURN_IF_ERROR(SetBase(http, vocab, std::move(list)));
  SHORTLIST_RETURN_IF_ERROR(LogBase(http, document != nullptr ? "" : vocab.custom_vocab_path));
  return Stats(http);
}

/// `list` takes the place of the file that `vocab` names.
absl::Status VocabAdmin::SetBase(const HttpRequest& http, const VocabOptions& vocab,
                                 std::optional<VocabList> list) const {
  const std::string client(http.Query("client"));
  if (!list.has_value() && !vocab.custom_vocab_path.empty()) {
    SHORTLIST_ASSIGN_OR_RETURN(list, options_.read_list(vocab.custom_vocab_path, options_.target));
  }
  if (client.empty() && vocab.auto_size && options_.sizer != nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(std::shared_ptr<const BaseLadder> ladder,
                               BaseLadder::Create(vocab, *std::move(list), options_.target));
    options_.sizer->Replace(std::move(ladder));
    return absl::OkStatus();
  }
  VocabOptions sized = vocab;  // a client's base is its whole list unless it sets a size
  sized.auto_size = false;
  sized.min_rows = sized.max_rows = std::nullopt;
  std::shared_ptr<const VocabBase> base;
  if (list.has_value()) {
    SHORTLIST_ASSIGN_OR_RETURN(base, SelectVocabBase(sized, *list, options_.target));
  } else {
    SHORTLIST_ASSIGN_OR_RETURN(base, SelectVocabBase(sized, options_.target));
  }
  if (client.empty()) {
    if (options_.sizer != nullptr) options_.sizer->Cancel();
    return options_.manager->ReplaceBase(std::move(base));
  }
  if (options_.clients == nullptr) {
    return absl::FailedPreconditionError("clients have no names here: the server has no API keys");
  }
  return options_.clients->SetBase(client, std::move(base));
}

/// `file` is the source of the base; empty: the request itself.
absl::Status VocabAdmin::LogBase(const HttpRequest& http, const std::string& file) const {
  if (!options_.log) return absl::OkStatus();
  SHORTLIST_ASSIGN_OR_RETURN(const DynamicVocabularyManager* const manager, Manager(http));
  const std::string client(http.Query("client"));
  options_.log("vocab_base",
               absl::StrCat("rows=", manager->ActiveSize() - manager->Stats().dynamic_size,
                            " list=\"", file.empty() ? "of the request" : absl::CEscape(file), "\"",
                            client.empty() ? "" : " client=\"", absl::CEscape(client),
                            client.empty() ? "" : "\""));
  return absl::OkStatus();
}

absl::StatusOr<std::string> VocabAdmin::AddIds(const HttpRequest& http) const {
  SHORTLIST_ASSIGN_OR_RETURN(DynamicVocabularyManager* const manager, Manager(http));
  SHORTLIST_ASSIGN_OR_RETURN(const json object, ParseRequestBody(http.body));
  JsonFields fields(object);
  if (fields.Find("ids") == nullptr) fields.Fail("ids", "is missing");
  const VocabTarget& target = options_.target;
  const int64_t num_rows = target.num_rows > 0 ? target.num_rows : target.vocab_size;
  const std::vector<int64_t> values = fields.Integers("ids", kMaxAddedIds, 0, num_rows - 1);
  fields.RefuseUnknown();
  SHORTLIST_RETURN_IF_ERROR(fields.status());
  if (manager->Active()->is_full_head()) {
    return absl::FailedPreconditionError("the draft scores the full head: all ids are active");
  }
  if (manager->Stats().dynamic_capacity == 0) {
    return absl::FailedPreconditionError(
        "the dynamic part has room for 0 ids: with several API keys requests share no rows (the "
        "vocabulary that a client has of its own has some: ?client=NAME); else --dynamic-capacity "
        "or --dynamic-rows says how many");
  }
  std::vector<TokenId> ids;
  for (const int64_t value : values) ids.push_back(TokenId{static_cast<int32_t>(value)});
  SHORTLIST_RETURN_IF_ERROR(manager->Add(ids));
  return Stats(http);
}

}  // namespace shortlist
