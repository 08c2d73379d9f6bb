#include "tests/serve/serve_fixture.h"

#include "text/chat/conversation.h"

namespace shortlist {

const Tokenizer& DemoTokenizer() {
  static const std::unique_ptr<Tokenizer> tokenizer = [] {
    auto opened = OpenTokenizer(ModelSource::OfDirectory("models/demo/target"));
    EXPECT_TRUE(opened.ok()) << opened.status();
    return *std::move(opened);
  }();
  return *tokenizer;
}

ServeTest::ServeTest()
    : engine_(DemoTokenizer()),
      encoder_(DemoTokenizer(), std::nullopt, **FindConversation("zero_shot")) {}

GrammarCompiler& DemoGrammars() {
  static auto* const compiler = [] {
    const Tokenizer& tokenizer = DemoTokenizer();
    GrammarCompiler::Options options{
        .end_ids = {TokenId{2}}, .encode = [](std::string_view) { return std::vector<TokenId>(); }};
    for (int32_t id = 0; id < tokenizer.size(); ++id) {
      options.tokens.push_back(tokenizer.IsSpecial(TokenId{id})
                                   ? std::string_view()
                                   : tokenizer.TokenBytes(TokenId{id}));
    }
    return new GrammarCompiler(std::move(options));
  }();
  return *compiler;
}

ServeTest::~ServeTest() {
  if (server_ == nullptr) return;
  if (thread_.joinable()) {
    EXPECT_EQ(HttpClient(port()).Get("/health").status, 200);
    EXPECT_TRUE(AwaitIdle());
  }
  Stop();
}

void ServeTest::Start(const std::function<void(Server::Options&)>& change) {
  Server::Options options;
  options.http.port = 0;
  options.http.allowed_hosts = {"test", "t", "a"};  // the clients' Host
  options.logs_requests = false;
  options.drain_timeout = std::chrono::seconds(5);
  options.generator = {.tokenizer = &DemoTokenizer(),
                       .prompt_encoder = &encoder_,
                       .stop_token_ids = {TokenId{2}},
                       .grammars = &DemoGrammars(),
                       .context_length = 1024,
                       .router = engine_.stepper(),
                       .load = [this] { return engine_.Load(); },
                       .flush_cache = [this] { ++engine_.num_flushes; }};
  options.service.model_name = "demo";
  options.service.source = ModelSource::OfDirectory("models/demo/target");
  options.service.version = "test";
  options.service.arguments = nlohmann::json::object();
  options.service.max_running_requests = 256;
  options.service.num_draft_tokens = 8;
  if (change) change(options);
  auto server = Server::Create(std::move(options));
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  thread_ = std::thread([this] { server_->Run(); });
}

void ServeTest::Stop() {
  if (!thread_.joinable()) return;
  server_->Stop();
  thread_.join();
}

bool ServeTest::Await(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

bool ServeTest::AwaitIdle() const {
  return Await([this] { return engine_.num_live == 0 && server_->num_live() == 0; });
}

}  // namespace shortlist
