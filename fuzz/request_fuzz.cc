// Request bodies in every dialect, through the routes' own handlers. An input is a line with the
// route's path, then the body. The engine rejects every request, so each input ends with an error
// or a small reply, which must be valid JSON.
//
//   fuzz_request -dict=fuzz/request.dict -max_len=4096 CORPUS fuzz/seeds/request

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/json.h"
#include "nlohmann/json.hpp"
#include "serve/admin/token_counts.h"
#include "serve/admin/vocab_admin.h"
#include "serve/embeddings/routes.h"
#include "serve/fastchat/worker.h"
#include "serve/http/worker_threads.h"
#include "serve/openai/routes.h"
#include "serve/service.h"
#include "serve/sglang/routes.h"
#include "tests/serve/fake_generator.h"
#include "text/chat/conversation.h"
#include "text/chat/prompt_encoder.h"
#include "text/tokenizer.h"
#include "text/tokenizer/json_tokenizer.h"
#include "vocab/dynamic_vocabulary_manager.h"

namespace shortlist {
namespace {

namespace asio = boost::asio;

/// Not the tokenizer of models/demo: SentencePiece cannot be loaded under clang's sanitizers.
std::unique_ptr<Tokenizer> OpenSmallTokenizer() {
  const auto golden =
      ReadJsonFile("tests/reference/golden/tokenizers/llama2.json", int64_t{1} << 20);
  SHORTLIST_CHECK(golden.ok());
  auto tokenizer = ParseJsonTokenizer(golden->at("tokenizer"), nlohmann::json::object());
  SHORTLIST_CHECK(tokenizer.ok());
  return *std::move(tokenizer);
}

/// The routes of a server without a socket or an engine. One instance for all inputs.
class Routes {
 public:
  Routes()
      : tokenizer_(OpenSmallTokenizer()),
        encoder_(*tokenizer_, std::nullopt, **FindConversation("zero_shot")),
        generator_(io_.get_executor(), {.encoders = {{.name = "vectors",
                                                      .makes = ServedEncoder::Makes::kVectors,
                                                      .max_input_tokens = 512,
                                                      .result_size = 4,
                                                      .vocab_size = 1000,
                                                      .prompts = {{"query", "q: "}}},
                                                     {.name = "scores",
                                                      .makes = ServedEncoder::Makes::kScores,
                                                      .max_input_tokens = 512,
                                                      .result_size = 1,
                                                      .vocab_size = 1000,
                                                      .labels = {"LABEL_0"}}},
                                        .tokenizer = tokenizer_.get(),
                                        .prompt_encoder = &encoder_,
                                        .context_length = 1024}),
        counts_(tokenizer_->size()) {
    generator_.encodes = true;
    service_.generator = &generator_;
    service_.workers = &workers_;
    service_.model_name = "demo";
    service_.max_running_requests = 8;
    const std::vector<TokenId> ids = {TokenId{5}, TokenId{6}};
    auto base = VocabBase::Create(ids, tokenizer_->size());
    SHORTLIST_CHECK(base.ok());
    auto manager = DynamicVocabularyManager::Create(*base, {.dynamic_capacity = 16});
    SHORTLIST_CHECK(manager.ok());
    manager_ = *std::move(manager);
    VocabAdmin::Options vocab;
    vocab.manager = manager_.get();
    vocab.counts = &counts_;
    vocab.workers = &workers_;
    vocab.target = {tokenizer_->size(), tokenizer_->Fingerprint()};
    admin_ = std::make_unique<VocabAdmin>(std::move(vocab));
    worker_ =
        std::make_unique<FastchatWorker>(io_.get_executor(), service_, FastchatWorker::Options{});
    for (const absl::Status& added :
         {AddOpenAiCompletionsRoute(service_, table_), AddOpenAiChatRoute(service_, table_),
          AddOpenAiResponsesRoute(service_, table_), AddOpenAiEmbeddingsRoute(service_, table_),
          AddCohereEmbedRoute(service_, table_), AddRerankRoutes(service_, table_),
          AddTeiRoutes(service_, table_), AddSglangEncodeRoutes(service_, table_),
          AddScoreRoutes(service_, table_), AddFastchatEmbeddingsRoute(service_, table_),
          AddSglangGenerateRoutes(service_, table_), AddSglangInfoRoutes(service_, table_),
          worker_->AddRoutes(table_), admin_->AddRoutes(table_)}) {
      SHORTLIST_CHECK(added.ok());
    }
  }

  void Serve(const std::string& path, std::string body) {
    const RouteTable::Match match = table_.Find("POST", path);
    if (match.route == nullptr) return;
    HttpRequest http;
    http.method = "POST";
    http.path = path;
    http.body = std::move(body);
    FakeResponse response;
    FakeGenerator::Script refusal;
    refusal.start = absl::ResourceExhaustedError("the request queue is full");
    generator_.scripts = {std::move(refusal)};
    generator_.started.clear();
    absl::Status status;
    io_.restart();
    asio::co_spawn(io_, match.route->handler(http, response),
                   [&](const std::exception_ptr& thrown, absl::Status result) {
                     SHORTLIST_CHECK(thrown == nullptr);
                     status = std::move(result);
                   });
    io_.run();
    SHORTLIST_CHECK(status.ok() == response.started());
    if (response.streams) return;
    const std::string reply = status.ok() ? response.body : match.route->error_body(status);
    SHORTLIST_CHECK(nlohmann::json::accept(reply));
  }

 private:
  asio::io_context io_;
  WorkerThreads workers_{1};
  const std::unique_ptr<Tokenizer> tokenizer_;
  const PromptEncoder encoder_;
  FakeGenerator generator_;
  TokenCounts counts_;
  std::unique_ptr<DynamicVocabularyManager> manager_;
  Service service_;
  std::unique_ptr<VocabAdmin> admin_;
  std::unique_ptr<FastchatWorker> worker_;
  RouteTable table_;
};

}  // namespace
}  // namespace shortlist

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static shortlist::Routes* const routes = new shortlist::Routes;
  const std::string input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\n'), input.size());
  routes->Serve(input.substr(0, end), input.substr(std::min(end + 1, input.size())));
  return 0;
}
