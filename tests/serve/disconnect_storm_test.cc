#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/serve/embeddings/encoder_fixture.h"
#include "tests/serve/http/client.h"
#include "vocab/dynamic_vocabulary_manager.h"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr char kAdminKey[] = "of-the-admin";
constexpr int kNumThreads = 6;

/// SHORTLIST_STORM_SECONDS and SHORTLIST_STORM_SEED make longer storms, and the same one again.
uint64_t FromEnvironment(const char* name, uint64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

/// Bodies that each route accepts but those with GET; the empty one: it takes none.
std::map<std::string, std::vector<std::string>> Bodies() {
  std::string words = "the cat";
  for (int i = 0; i < 2000; ++i) absl::StrAppend(&words, " sat on mat ", i);
  const json tokens = {5, 6, 7, 8};
  const json chat = {{"model", "demo"},
                     {"messages", {{{"role", "user"}, {"content", "Once upon"}}}},
                     {"max_tokens", 24}};
  json chat_stream = chat;
  chat_stream["stream"] = true;
  const json completion = {{"model", "demo"}, {"prompt", "Once"}, {"max_tokens", 24}, {"n", 3}};
  json completion_stream = completion;
  completion_stream["stream"] = true;
  const json response = {{"input", "Once upon"}, {"max_output_tokens", 24}};
  json response_stream = response;
  response_stream["stream"] = true;
  const json generate = {
      {"text", {"Once", "There was"}},
      {"return_logprob", true},
      {"sampling_params", {{"max_new_tokens", 24}, {"ignore_eos", true}, {"n", 2}}}};
  json generate_stream = generate;
  generate_stream["stream"] = true;
  const std::vector<std::string> worker = {
      json{{"prompt", "Once"}, {"max_new_tokens", 24}, {"stream_interval", 1}}.dump()};
  const std::vector<std::string> tokenize = {json{{"prompt", "a cat"}}.dump(),
                                             json{{"prompt", {words, words, words}}}.dump()};
  const std::vector<std::string> detokenize = {json{{"tokens", tokens}}.dump()};
  json texts = json::array();
  for (int i = 0; i < 500; ++i) texts.push_back(absl::StrCat("text ", i));
  const std::vector<std::string> rerank = {json{{"query", "q"}, {"documents", texts}}.dump()};
  const std::vector<std::string> score = {json{{"text_1", "q"}, {"text_2", texts}}.dump()};
  const std::vector<std::string> classify = {json{{"input", texts}}.dump()};
  return {{"/v1/embeddings", {json{{"input", texts}}.dump(), json{{"input", "a"}}.dump()}},
          {"/v1/rerank", rerank},
          {"/v2/rerank", rerank},
          {"/infinity/rerank", rerank},
          {"/v2/embed", {json{{"input_type", "search_document"}, {"texts", {"a", "b"}}}.dump()}},
          {"/rerank", {json{{"query", "q"}, {"texts", texts}}.dump()}},
          {"/worker_get_embeddings", {json{{"input", texts}}.dump()}},
          {"/embed", {json{{"inputs", texts}}.dump()}},
          {"/embed_sparse", {json{{"inputs", texts}}.dump()}},
          {"/predict", {json{{"inputs", "a"}}.dump()}},
          {"/encode", {json{{"text", texts}}.dump()}},
          {"/score", score},
          {"/v1/score", score},
          {"/classify", classify},
          {"/v1/classify", classify},
          {"/v1/chat/completions", {chat.dump(), chat_stream.dump()}},
          {"/v1/completions", {completion.dump(), completion_stream.dump()}},
          {"/generate", {generate.dump(), generate_stream.dump()}},
          {"/v1/responses", {response.dump(), response_stream.dump()}},
          {"/ping", {""}},
          {"/worker_generate", worker},
          {"/worker_generate_stream", worker},
          {"/count_token", {json{{"prompt", words}}.dump()}},
          {"/worker_get_status", {""}},
          {"/worker_get_conv_template", {""}},
          {"/model_details", {""}},
          {"/tokenize", tokenize},
          {"/v1/tokenize", tokenize},
          {"/detokenize", detokenize},
          {"/v1/detokenize", detokenize},
          {"/abort_request", {json{{"rid", "nobody"}}.dump()}},
          {"/abort_all_requests", {""}},
          {"/flush_cache", {""}},
          {"/vocab/base", {json::object().dump()}},
          {"/vocab/ids", {json{{"ids", tokens}}.dump()}}};
}

/// Requests of every route that the server lists.
std::vector<std::string> Requests(uint16_t port) {
  const std::string key = absl::StrCat("X-Api-Key: ", kAdminKey, "\r\n");
  const auto bodies = Bodies();
  const json document = HttpClient(port).Get("/openapi.json").Json();
  std::vector<std::string> requests;
  for (const auto& [path, operations] : document.at("paths").items()) {
    for (const auto& [name, operation] : operations.items()) {
      const std::string method = absl::AsciiStrToUpper(name);
      std::string target = path;
      if (const size_t brace = target.find('{'); brace != target.npos) {
        target.replace(brace, target.npos, "demo");
      }
      if (method == "GET") {
        requests.push_back(
            absl::StrCat("GET ", target, " HTTP/1.1\r\nHost: test\r\n", key, "\r\n"));
        continue;
      }
      const auto known = bodies.find(path);
      EXPECT_TRUE(known != bodies.end()) << "no body is known here for " << method << " " << path;
      if (known == bodies.end()) continue;
      for (const std::string& body : known->second) {
        requests.push_back(method +
                           PostRequest(target, body, key).substr(std::string_view("POST").size()));
      }
    }
  }
  return requests;
}

/// Sends some or all of a request, stays for a moment, and goes.
class Visitor {
 public:
  Visitor(uint16_t port, const std::vector<std::string>& requests, uint64_t seed)
      : port_(port), requests_(requests), random_(seed) {}

  void Visit() {
    const std::string& request = requests_[Below(requests_.size())];
    HttpClient client(port_);
    if (Below(3) > 0) client.ResetAtEnd();
    // Nine of ten are whole: the rest go in the header or in the body.
    const bool is_whole = Below(10) > 0;
    client.Send(
        std::string_view(request).substr(0, is_whole ? request.npos : Below(request.size())));
    switch (Below(4)) {
      case 0:
        return;
      case 1:
        client.ShutdownSend();
        break;
      case 2:
        client.ReceiveSome(std::chrono::milliseconds(Below(20)));
        return;
      default:
        break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(Below(3000)));
  }

 private:
  size_t Below(size_t bound) {
    return std::uniform_int_distribution<size_t>(0, bound - 1)(random_);
  }

  const uint16_t port_;
  const std::vector<std::string>& requests_;
  std::mt19937_64 random_;
};

/// Sockets and files of this process: both sides of every connection.
int64_t NumDescriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                       std::filesystem::directory_iterator());
}

class DisconnectStormTest : public EncoderTest {
 protected:
  DisconnectStormTest() {
    const TokenId ids[] = {TokenId{5}, TokenId{6}};
    const auto base = VocabBase::Create(ids, DemoTokenizer().size());
    manager_ = *DynamicVocabularyManager::Create(*base, {.dynamic_capacity = 16});
  }
  ~DisconnectStormTest() override {
    Stop();
    server_.reset();  // before the vocabulary that its worker may still read
  }

  std::unique_ptr<DynamicVocabularyManager> manager_;
};

TEST_F(DisconnectStormTest, EveryRouteSurvivesDisconnects) {
  const std::chrono::seconds duration(FromEnvironment("SHORTLIST_STORM_SECONDS", 2));
  const uint64_t seed = FromEnvironment("SHORTLIST_STORM_SEED", std::random_device{}());
  std::cout << "SHORTLIST_STORM_SEED=" << seed << "\n";
  AddVectors("words");
  AddScores("judge");
  for (const auto& encoder : encoders_) encoder->pass_us = 300;
  StartAll([this](Server::Options& options) {
    options.keys.admin = kAdminKey;
    options.vocab.manager = manager_.get();
    options.vocab.target = {.vocab_size = DemoTokenizer().size()};
  });
  engine_.step_us = 300;
  const std::vector<std::string> requests = Requests(port());
  const int64_t num_descriptors = NumDescriptors();

  std::atomic<int64_t> num_visits = 0;
  const auto end = std::chrono::steady_clock::now() + duration;
  std::vector<std::thread> threads;
  for (int i = 0; i < kNumThreads; ++i) {
    threads.emplace_back([&, i] {
      Visitor visitor(port(), requests, seed + static_cast<uint64_t>(i));
      while (std::chrono::steady_clock::now() < end) {
        visitor.Visit();
        ++num_visits;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::cout << num_visits << " visits of " << requests.size() << " requests\n";

  // Requests that the clients left are served first, which takes time on a slow machine.
  const auto end_of_wait = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (NumDescriptors() > num_descriptors && std::chrono::steady_clock::now() < end_of_wait) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_LE(NumDescriptors(), num_descriptors)
      << "descriptors are open, more than before the storm";
  EXPECT_TRUE(AwaitIdle());
  EXPECT_EQ(Connect().Get("/health").status, 200);
}

}  // namespace
}  // namespace shortlist
