#ifndef SHORTLIST_TESTS_SERVE_SERVE_FIXTURE_H_
#define SHORTLIST_TESTS_SERVE_SERVE_FIXTURE_H_

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "grammar/grammar_compiler.h"
#include "serve/server.h"
#include "tests/serve/fake_engine.h"
#include "tests/serve/http/client.h"

namespace shortlist {

/// The demo pair's tokenizer; opened once.
const Tokenizer& DemoTokenizer();

/// Compiles grammars for it; outputs end with its EOS.
GrammarCompiler& DemoGrammars();

/// A whole server over a FakeEngine, with the demo tokenizer and a context of 1024 tokens, under
/// the name "demo". Its checks at the end: it still answers, and holds nothing.
class ServeTest : public testing::Test {
 protected:
  ServeTest();
  ~ServeTest() override;

  /// `change` may alter the options.
  void Start(const std::function<void(Server::Options&)>& change = {});
  void Stop();

  HttpClient Connect() const { return HttpClient(server_->port()); }
  uint16_t port() const { return server_->port(); }
  /// Waits until the engine holds no request any more; false after ten seconds.
  bool AwaitIdle() const;
  static bool Await(const std::function<bool()>& condition);

  FakeEngine engine_;
  PromptEncoder encoder_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SERVE_SERVE_FIXTURE_H_
