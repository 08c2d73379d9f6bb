#include "serve/admin/vocab_admin.h"

#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "serve/http/api_error.h"
#include "serve/page.h"
#include "tests/serve/fake_generator.h"

namespace shortlist {
namespace {

namespace asio = boost::asio;
using nlohmann::json;
using ::testing::HasSubstr;

constexpr int64_t kVocabSize = 100;
constexpr char kFingerprint[] = "fnv1a64:0123456789abcdef";

std::vector<TokenId> Ids(std::initializer_list<int32_t> values) {
  std::vector<TokenId> ids;
  for (const int32_t value : values) ids.push_back(TokenId{value});
  return ids;
}

json ListDocument(json ids, json counts) {
  return {{"format", "shortlist-vocab"}, {"version", 1},          {"vocab_size", kVocabSize},
          {"fingerprint", kFingerprint}, {"ids", std::move(ids)}, {"counts", std::move(counts)}};
}

class VocabAdminTest : public ::testing::Test {
 protected:
  struct Answer {
    absl::Status status;
    std::string body;
    json Json() const { return json::parse(body); }
  };

  VocabAdminTest() {
    std::filesystem::create_directories(directory_);
    WriteList(ListDocument({7, 3, 9, 1}, {40, 30, 20, 10}));
    const auto base = VocabBase::Create(Ids({7, 3}), kVocabSize);
    manager_ = *DynamicVocabularyManager::Create(*base, {.dynamic_capacity = 2});
    Open(manager_.get(), path_ + ":top=2");
  }
  ~VocabAdminTest() override { std::filesystem::remove_all(directory_); }

  void WriteList(const json& document) { std::ofstream(path_) << document; }

  void Open(DynamicVocabularyManager* manager, const std::string& vocab, int64_t num_rows = 0) {
    VocabAdmin::Options options;
    options.manager = manager;
    options.sizer = sizer_.get();
    options.clients = &clients_;
    options.counts = &counts_;
    options.workers = &workers_;
    options.vocab = *ParseVocabFlag(vocab);
    options.target = {kVocabSize, kFingerprint, num_rows};
    options.pinned = Ids({2});
    options.log = [this](std::string_view what, std::string_view details) {
      log_ += absl::StrCat(std::string(what), " ", std::string(details), "\n");
    };
    admin_ = std::make_unique<VocabAdmin>(std::move(options));
    routes_ = RouteTable();
    ASSERT_TRUE(admin_->AddRoutes(routes_).ok());
  }

  Answer Do(const std::string& method, const std::string& path, const std::string& body = "") {
    const RouteTable::Match match = routes_.Find(method, path.substr(0, path.find('?')));
    if (match.route == nullptr) return {absl::NotFoundError(path)};
    EXPECT_EQ(match.route->access, Access::kAdmin);
    HttpRequest http;
    http.body = body;
    if (const size_t question = path.find('?'); question != path.npos) {
      for (const absl::string_view pair : absl::StrSplit(path.substr(question + 1), '&')) {
        const std::pair<std::string, std::string> one =
            absl::StrSplit(pair, absl::MaxSplits('=', 1));
        http.query.push_back(one);
      }
    }
    FakeResponse response;
    absl::Status status;
    asio::io_context io;
    asio::co_spawn(io, match.route->handler(http, response),
                   [&](std::exception_ptr e, absl::Status s) {
                     EXPECT_EQ(e, nullptr);
                     status = std::move(s);
                   });
    io.run();
    return {std::move(status), response.body};
  }

  const std::string directory_ =
      (std::filesystem::temp_directory_path() / absl::StrCat("vocab_admin.", ::getpid())).string();
  const std::string path_ = directory_ + "/list.vocab.json";
  WorkerThreads workers_{1};
  TokenCounts counts_{kVocabSize};
  std::unique_ptr<DynamicVocabularyManager> manager_;
  ClientVocabs clients_{{"team-a", "key 2"}, /*dynamic_capacity=*/3};
  std::unique_ptr<VocabSizer> sizer_;
  std::unique_ptr<VocabAdmin> admin_;
  RouteTable routes_;
  std::string log_;  // written on the worker thread while Do waits for it
};

TEST_F(VocabAdminTest, ShowsActiveVocabulary) {
  ASSERT_TRUE(manager_->Observe(Ids({7, 50, 3, 7}), {}).ok());
  const json ids = Do("GET", "/vocab").Json();
  EXPECT_EQ(ids["vocab_size"], kVocabSize);
  EXPECT_EQ(ids["base_ids"], json({3, 7}));
  EXPECT_EQ(ids["dynamic_ids"], json({50}));
  const json stats = Do("GET", "/vocab/stats").Json();
  EXPECT_EQ(stats["version"], ids["version"]);
  EXPECT_EQ(stats["active_size"], 3);
  EXPECT_EQ(stats["num_emitted"], 4);
  EXPECT_EQ(stats["coverage"], 0.75);
}

TEST_F(VocabAdminTest, ExportedListIsServable) {
  EXPECT_EQ(Do("GET", "/vocab/escapes").status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Do("GET", "/vocab/counts").status.code(), absl::StatusCode::kNotFound);
  ASSERT_TRUE(manager_->Observe(Ids({50, 7, 60, 7}), {}).ok());
  ASSERT_TRUE(manager_->Observe(Ids({60}), {}, /*snapshot=*/nullptr).ok());
  counts_.Add({.rows = {{.token_ids = Ids({60, 7, 50})}, {.token_ids = Ids({7, 99})}}});

  const Answer escapes = Do("GET", "/vocab/escapes");
  const auto escape_list = ParseVocabList(escapes.Json(), {kVocabSize, kFingerprint});
  ASSERT_TRUE(escape_list.ok()) << escape_list.status();
  EXPECT_EQ(escape_list->ids, Ids({50, 60}));
  EXPECT_EQ(escape_list->pinned, Ids({2}));

  const Answer counts = Do("GET", "/vocab/counts");
  const auto count_list = ParseVocabList(counts.Json(), {kVocabSize, kFingerprint});
  ASSERT_TRUE(count_list.ok()) << count_list.status();
  EXPECT_EQ(count_list->ids, Ids({7, 50, 60, 99}));
  EXPECT_EQ(count_list->counts, (std::vector<int64_t>{2, 1, 1, 1}));

  // The server's traffic becomes its base, pinned ids included.
  const Answer replaced =
      Do("POST", "/vocab/base", json{{"list", counts.Json()}, {"top", 3}}.dump());
  ASSERT_TRUE(replaced.status.ok()) << replaced.status;
  EXPECT_EQ(Do("GET", "/vocab").Json()["base_ids"], json({2, 7, 50}));
}

TEST_F(VocabAdminTest, RereadsListOfFlag) {
  WriteList(ListDocument({11, 12, 13}, {3, 2, 1}));
  ASSERT_TRUE(Do("POST", "/vocab/base", "{}").status.ok());
  EXPECT_EQ(Do("GET", "/vocab").Json()["base_ids"], json({11, 12}));  // top=2, as the flag says
  ASSERT_TRUE(Do("POST", "/vocab/base", R"({"coverage": 1.0})").status.ok());
  EXPECT_EQ(Do("GET", "/vocab").Json()["base_ids"], json({11, 12, 13}));
  ASSERT_TRUE(Do("POST", "/vocab/base", R"({"ratio": 0.01, "top": null})").status.ok());
  EXPECT_EQ(Do("GET", "/vocab").Json()["base_ids"], json({11}));
}

TEST_F(VocabAdminTest, CountsIncludeMostFrequentSuccessors) {
  counts_.Add({.rows = {{.rid = "a", .token_ids = Ids({7, 50})},
                        {.rid = "b", .token_ids = Ids({7, 60, 7})}}});
  counts_.Add({.rows = {{.rid = "a", .token_ids = Ids({7, 50}), .finished = true},
                        {.rid = "b", .token_ids = Ids({60}), .finished = true}}});
  counts_.Add({.rows = {{.rid = "a", .token_ids = Ids({50})}}});  // another request of this name
  const auto list =
      ParseVocabList(Do("GET", "/vocab/counts?successors=1").Json(), {kVocabSize, kFingerprint});
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(std::ssize(list->successors), kVocabSize);
  EXPECT_EQ(list->successors[7], Ids({50}));  // twice; and so 60, whose id is higher
  EXPECT_EQ(list->successors[50], Ids({7}));
  EXPECT_EQ(list->successors[60], Ids({7}));
  EXPECT_EQ(counts_.Successors(2)[7], Ids({50, 60}));
  for (const char* bad : {"0", "-1", "x", "101", "1x", "99999999999999999999"}) {
    const Answer answer = Do("GET", absl::StrCat("/vocab/counts?successors=", bad));
    EXPECT_EQ(HttpStatusOf(answer.status), 400) << bad;
  }
}

TEST_F(VocabAdminTest, UnknownParameterIsRejectedWithKnownOne) {
  const json before = Do("GET", "/vocab").Json();
  for (const auto& [method, path, known] : std::vector<std::array<std::string, 3>>{
           {"GET", "/vocab?clinet=a", "\"clinet\" is not known here; there is client"},
           {"GET", "/vocab/stats?client=a&top=2", "\"top\" is not known here; there is client"},
           {"GET", "/vocab/stats?client=a&client=b", "client is there twice"},
           {"GET", "/vocab/escapes?successors=1", "\"successors\" is not known"},
           {"GET", "/vocab/counts?client=a", "counts are of all clients together"},
           {"GET", "/vocab/counts?top=2", "\"top\" is not known here; there is successors"},
           {"POST", "/vocab/base?key=a", "\"key\" is not known here; there is client"},
           {"POST", "/vocab/ids?ids=1", "\"ids\" is not known here; there is client"}}) {
    const Answer answer = Do(method, path, "{}");
    EXPECT_EQ(HttpStatusOf(answer.status), 400) << path;
    EXPECT_THAT(std::string(answer.status.message()), HasSubstr(known)) << path;
  }
  EXPECT_EQ(Do("GET", "/vocab").Json(), before);
}

TEST_F(VocabAdminTest, NewBaseIsLogged) {
  ASSERT_TRUE(Do("POST", "/vocab/base", R"({"top": 3})").status.ok());
  EXPECT_EQ(log_, absl::StrCat("vocab_base rows=3 list=\"", path_, "\"\n"));
  log_.clear();
  ASSERT_TRUE(
      Do("POST", "/vocab/base?client=team-a", json{{"list", ListDocument({50, 51}, {2, 1})}}.dump())
          .status.ok());
  EXPECT_EQ(log_, "vocab_base rows=2 list=\"of the request\" client=\"team-a\"\n");
  log_.clear();
  EXPECT_FALSE(Do("POST", "/vocab/base?client=unknown", "{}").status.ok());
  EXPECT_FALSE(Do("POST", "/vocab/base", R"({"top": 99})").status.ok());
  EXPECT_EQ(log_, "");
}

TEST_F(VocabAdminTest, ClientHasItsOwnBase) {
  EXPECT_EQ(Do("GET", "/vocab?client=team-a").status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(clients_.Find("team-a"), nullptr);
  const json before = Do("GET", "/vocab").Json();
  ASSERT_TRUE(
      Do("POST", "/vocab/base?client=team-a", json{{"list", ListDocument({50, 51}, {2, 1})}}.dump())
          .status.ok());
  ASSERT_NE(clients_.Find("team-a"), nullptr);
  EXPECT_EQ(Do("GET", "/vocab?client=team-a").Json()["base_ids"], json({50, 51}));
  ASSERT_TRUE(Do("POST", "/vocab/ids?client=team-a", R"({"ids": [60]})").status.ok());
  EXPECT_EQ(Do("GET", "/vocab?client=team-a").Json()["dynamic_ids"], json({60}));
  EXPECT_EQ(Do("GET", "/vocab/stats?client=team-a").Json()["dynamic_capacity"], 3);
  EXPECT_EQ(Do("GET", "/vocab").Json(), before);
  // The file of the flag again, and a name of no key.
  DynamicVocabularyManager* const own = clients_.Find("team-a");
  ASSERT_TRUE(Do("POST", "/vocab/base?client=team-a", "{}").status.ok());
  EXPECT_EQ(clients_.Find("team-a"), own);
  EXPECT_EQ(Do("GET", "/vocab?client=team-a").Json()["base_ids"], json({3, 7}));
  EXPECT_EQ(Do("POST", "/vocab/base?client=unknown", "{}").status.code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(clients_.Find("unknown"), nullptr);
}

TEST_F(VocabAdminTest, AutomaticSizeIsSearchedAgain) {
  const auto options = *ParseVocabFlag(path_ + ":auto=1..4");
  const auto ladder =
      *BaseLadder::Create(options, *ReadVocabList(path_, {kVocabSize}), {kVocabSize, kFingerprint});
  sizer_ = std::make_unique<VocabSizer>(*manager_, ladder, std::vector<int64_t>(),
                                        /*max_draft_tokens=*/4);
  Open(manager_.get(), path_ + ":auto=1..4");
  WriteList(ListDocument({11, 12, 13}, {3, 2, 1}));
  ASSERT_TRUE(Do("POST", "/vocab/base", "{}").status.ok());
  EXPECT_EQ(Do("GET", "/vocab").Json()["base_ids"], json({3, 7}));  // until the next step
  EXPECT_TRUE(sizer_->TakeNext());
  EXPECT_EQ(Do("GET", "/vocab").Json()["base_ids"], json({11, 12, 13}));
  ASSERT_TRUE(Do("POST", "/vocab/base", R"({"top": 1})").status.ok());
  EXPECT_EQ(Do("GET", "/vocab").Json()["base_ids"], json({11}));
}

TEST_F(VocabAdminTest, AddsIds) {
  const Answer added = Do("POST", "/vocab/ids", R"({"ids": [50, 7, 51]})");
  ASSERT_TRUE(added.status.ok()) << added.status;
  EXPECT_EQ(added.Json()["dynamic_size"], 2);
  EXPECT_EQ(Do("GET", "/vocab").Json()["dynamic_ids"], json({50, 51}));
}

TEST_F(VocabAdminTest, RejectsIdsWithoutDraftRow) {
  Open(manager_.get(), path_ + ":top=2", /*num_rows=*/60);
  EXPECT_TRUE(Do("POST", "/vocab/ids", R"({"ids": [59]})").status.ok());
  const Answer added = Do("POST", "/vocab/ids", R"({"ids": [60]})");
  EXPECT_EQ(HttpStatusOf(added.status), 400);
  EXPECT_THAT(std::string(added.status.message()), HasSubstr("ids[0]"));
  WriteList(ListDocument({11, 60}, {2, 1}));
  const Answer replaced = Do("POST", "/vocab/base", "{}");
  EXPECT_EQ(HttpStatusOf(replaced.status), 400);
  EXPECT_THAT(std::string(replaced.status.message()), HasSubstr("token id 60 has no row"));
}

TEST_F(VocabAdminTest, RejectsBadInputUnchanged) {
  const json before = Do("GET", "/vocab").Json();
  json foreign = ListDocument({1}, {1});
  foreign["fingerprint"] = "fnv1a64:ffffffffffffffff";
  json small = ListDocument({1}, {1});
  small["vocab_size"] = 9999;
  const auto base = [](const json& list) { return json{{"list", list}}.dump(); };
  const struct {
    const char* path;
    std::string body;
    const char* words;
  } kCases[] = {
      {"/vocab/base", "", "request body"},
      {"/vocab/base", "[]", "object"},
      {"/vocab/base", R"({"top": 0})", "top"},
      {"/vocab/base", R"({"top": 101})", "top"},
      {"/vocab/base", R"({"successors": 0})", "successors"},
      {"/vocab/base", R"({"successors": 2})", "it holds no successors"},
      {"/vocab/base", R"({"top": "all"})", "top"},
      {"/vocab/base", R"({"tpo": 2})", "tpo: there is no such field"},
      {"/vocab/ids", R"({"ids": [1], "id": 2})", "id: there is no such field"},
      {"/vocab/base", R"({"top": 5})", "fewer than the 5"},
      {"/vocab/base", R"({"ratio": 0})", "ratio"},
      {"/vocab/base", R"({"ratio": 1.5})", "ratio"},
      {"/vocab/base", R"({"coverage": -1})", "coverage"},
      {"/vocab/base", R"({"ratio": 0.5, "coverage": 0.5})", "at most 1"},
      {"/vocab/base", R"({"list": 5})", "list: not a JSON object"},
      {"/vocab/base", R"({"list": {}})", "list: no member"},
      {"/vocab/base", base(ListDocument({1, 1}, {2, 1})), "repeats"},
      {"/vocab/base", base(ListDocument({100}, {1})), "100"},
      {"/vocab/base", base(ListDocument({-1}, {1})), "-1"},
      {"/vocab/base", base(ListDocument({1, 2}, {1, 2})), "counts[1]"},
      {"/vocab/base", base(foreign), "fingerprint"},
      {"/vocab/base", base(small), "vocab_size 9999"},
      {"/vocab/ids", "{}", "ids"},
      {"/vocab/ids", R"({"ids": null})", "ids"},
      {"/vocab/ids", R"({"ids": 5})", "ids"},
      {"/vocab/ids", R"({"ids": [100]})", "ids[0]"},
      {"/vocab/ids", R"({"ids": [5, -1]})", "ids[1]"},
      {"/vocab/ids", R"({"ids": [5, 1.5]})", "ids[1]"},
      {"/vocab/ids", R"({"ids": [5, "6"]})", "ids[1]"},
      {"/vocab/ids", json{{"ids", std::vector<int>(65'537, 1)}}.dump(), "ids"},
  };
  for (const auto& c : kCases) {
    const Answer answer = Do("POST", c.path, c.body);
    EXPECT_EQ(HttpStatusOf(answer.status), 400) << c.body;
    EXPECT_THAT(std::string(answer.status.message()), HasSubstr(c.words)) << c.body;
    EXPECT_EQ(Do("GET", "/vocab").Json(), before) << c.body;
  }
  WriteList(json{{"format", "other"}});
  EXPECT_EQ(HttpStatusOf(Do("POST", "/vocab/base", "{}").status), 400);
  std::filesystem::remove(path_);
  EXPECT_FALSE(Do("POST", "/vocab/base", "{}").status.ok());
  EXPECT_EQ(Do("GET", "/vocab").Json(), before);
}

TEST_F(VocabAdminTest, ReportsMissingVocabulary) {
  Open(/*manager=*/nullptr, "full");
  for (const char* path : {"/vocab", "/vocab/stats", "/vocab/escapes"}) {
    EXPECT_EQ(Do("GET", path).status.code(), absl::StatusCode::kFailedPrecondition) << path;
  }
  EXPECT_EQ(Do("POST", "/vocab/base", "{}").status.code(), absl::StatusCode::kFailedPrecondition);

  const auto empty = VocabBase::Create({}, kVocabSize);
  const auto fixed = DynamicVocabularyManager::Create(*empty, {.dynamic_capacity = 0});
  Open(fixed->get(), "full");
  EXPECT_THAT(std::string(Do("POST", "/vocab/ids", R"({"ids": [1]})").status.message()),
              HasSubstr("room for 0"));
  EXPECT_THAT(std::string(Do("POST", "/vocab/base", "{}").status.message()), HasSubstr("--vocab"));
}

TEST_F(VocabAdminTest, CountsDuringRequests) {
  std::thread router([&] {
    const BatchTokenIdOut out{.rows = {{.token_ids = Ids({1, 2, 2})}}};
    for (int i = 0; i < 2000; ++i) counts_.Add(out);
  });
  for (int i = 0; i < 20; ++i) Do("GET", "/vocab/counts");
  router.join();
  EXPECT_EQ(Do("GET", "/vocab/counts").Json()["counts"], json({4000, 2000}));
}

std::string PagePart(const std::string& name) {
  std::ifstream file("serve/page/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(PageTest, ContainsItsFilesAndLoadsNothingElse) {
  RouteTable routes;
  ASSERT_TRUE(AddPages(routes).ok());
  const RouteTable::Match match = routes.Find("GET", "/");
  ASSERT_NE(match.route, nullptr);
  EXPECT_EQ(match.route->access, Access::kPublic);
  FakeResponse response;
  asio::io_context io;
  asio::co_spawn(io, match.route->handler({}, response), [](std::exception_ptr, absl::Status) {});
  io.run();
  std::string icon = absl::StrCat("data:image/svg+xml,", PagePart("icon.svg"));
  absl::StripTrailingAsciiWhitespace(&icon);
  icon = absl::StrReplaceAll(icon, {{"#", "%23"}});
  const std::string text =
      absl::StrReplaceAll(PagePart("page.html"),
                          {{"@PAGE_STYLE@", PagePart("page.css")},
                           {"@PAGE_ICON@", icon},
                           {"@PAGE_SCRIPT@", PagePart("base.js") + PagePart("playground.js") +
                                                 PagePart("encoders.js") + PagePart("charts.js")}});
  EXPECT_EQ(response.body, text);
  EXPECT_THAT(text, HasSubstr("<!doctype html>"));
  EXPECT_THAT(response.headers["Content-Security-Policy"], HasSubstr("default-src 'none'"));
  for (const char* sink :
       {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("}) {
    EXPECT_EQ(text.find(sink), text.npos) << sink;
  }
}

}  // namespace
}  // namespace shortlist
