#ifndef SHORTLIST_TESTS_SERVE_API_FIXTURE_H_
#define SHORTLIST_TESTS_SERVE_API_FIXTURE_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "serve/output_text.h"
#include "tests/serve/serve_fixture.h"

namespace shortlist {

/// A server, and the known output of its engine.
class ApiTest : public ServeTest {
 protected:
  /// The greedy output for a text prompt, and its text.
  std::vector<TokenId> Ids(const std::string& prompt, int64_t count) const {
    const auto ids = encoder_.Encode(prompt, {});
    EXPECT_TRUE(ids.ok()) << ids.status();
    return engine_.Output(*ids, /*seed=*/0, count);
  }
  std::string Text(const std::vector<TokenId>& ids) const {
    OutputText output(DemoTokenizer(), {});
    std::string text;
    for (const TokenId id : ids) output.Append(id, text);
    output.Finish(text);
    return text;
  }
  static nlohmann::json RawIds(const std::vector<TokenId>& ids) {
    nlohmann::json raw = nlohmann::json::array();
    for (const TokenId id : ids) raw.push_back(::shortlist::Raw(id));
    return raw;
  }

  static constexpr char kPrompt[] = "Once upon a time";
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_SERVE_API_FIXTURE_H_
