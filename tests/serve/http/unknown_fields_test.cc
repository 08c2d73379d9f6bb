#include "serve/http/unknown_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST(UnknownFieldsTest, FieldIsRemovedInPlace) {
  const struct {
    const char* body;
    UnknownField field;
    const char* rest;
  } cases[] = {
      {R"({"b": 1, "x": {"y": 2}, "a": [3]})", {"", "x"}, R"({"b":1,"a":[3]})"},
      {R"({"b": 1, "a.b": 2})", {"", "a.b"}, R"({"b":1})"},
      {R"({"m": [{"x": 1}, {"x": 2, "k": 3}]})", {"m[1].", "x"}, R"({"m":[{"x":1},{"k":3}]})"},
      {R"({"o": {"p": {"x": 1}}})", {"o.p.", "x"}, R"({"o":{"p":{}}})"},
      {R"({"m": [{"c": [{"x": 1}, {"t": 2, "x": 3}]}]})",
       {"m[0].c.", "x"},
       R"({"m":[{"c":[{},{"t":2}]}]})"},
      {R"({"a": 1})", {"", "x"}, R"({"a":1})"},
      {R"({"a": 1})", {"a.", "x"}, R"({"a":1})"},
      {R"({"a": [1]})", {"a[7].", "x"}, R"({"a":[1]})"},
      {R"({"a": [1]})", {"a[99999999999999999999].", "x"}, R"({"a":[1]})"},
  };
  for (const auto& c : cases) EXPECT_EQ(WithoutField(c.body, c.field), c.rest) << c.body;
}

TEST(UnknownFieldsTest, NamesAreSafeInHeadersAndShort) {
  EXPECT_EQ(HeaderName({"messages[0].", "weight_1-x"}), "messages[0].weight_1-x");
  EXPECT_EQ(HeaderName({"", "a\r\nSet-Cookie: b\xc3\xa9"}), "a??Set-Cookie??b??");
  EXPECT_EQ(HeaderName({"", std::string(1000, 'x')}).size(), 64u);
}

class IgnoreUnknownFieldsTest : public ServeTest {
 protected:
  void StartIgnoring() {
    Start([](Server::Options& options) { options.ignores_unknown_fields = true; });
  }
};

TEST_F(IgnoreUnknownFieldsTest, UnknownFieldsAreIgnoredAndReported) {
  StartIgnoring();
  HttpClient client = Connect();
  const json messages = {{{"role", "user"}, {"content", "Hello"}, {"weight", 1}}};
  const json chat = {{"messages", messages},
                     {"max_tokens", 5},
                     {"temperature", 0},
                     {"my_trace", {{"a", {1, 2}}}},
                     {"stream_options", {{"include_usag", true}}}};
  json plain = chat;
  plain.erase("my_trace");
  plain.erase("stream_options");
  plain["messages"][0].erase("weight");
  client.Send(PostRequest("/v1/chat/completions", chat.dump()));
  const std::string head = client.ReceiveSome();
  for (const char* name : {"my_trace", "messages[0].weight", "stream_options.include_usag"}) {
    EXPECT_THAT(head, HasSubstr(std::string("X-Ignored-Fields: ") + name + "\r\n"));
  }
  const HttpReply reply = Connect().Post("/v1/chat/completions", chat);
  ASSERT_EQ(reply.status, 200) << reply.body;
  const HttpReply expected = Connect().Post("/v1/chat/completions", plain);
  EXPECT_EQ(reply.Json()["choices"], expected.Json()["choices"]);
  EXPECT_FALSE(expected.headers.contains("x-ignored-fields"));
  const json generate = {{"text", "a"}, {"sampling_params", {{"max_new_tokens", 2}, {"x", 1}}}};
  EXPECT_EQ(Connect().Post("/generate", generate).headers.at("x-ignored-fields"),
            "sampling_params.x");
}

TEST_F(IgnoreUnknownFieldsTest, KnownUnsupportedFieldsAreRejected) {
  StartIgnoring();
  HttpClient client = Connect();
  json body = {{"prompt", "a"}, {"stop_regex", "a"}, {"extra", 1}};
  EXPECT_EQ(client.Post("/v1/completions", body).Json()["error"]["param"], "stop_regex");
  body = {{"prompt", "a"}, {"max_tokens", -1}, {"extra", 1}};
  EXPECT_EQ(client.Post("/v1/completions", body).Json()["error"]["param"], "max_tokens");
}

TEST_F(IgnoreUnknownFieldsTest, UnknownFieldsAreBounded) {
  StartIgnoring();
  HttpClient client = Connect();
  json body = {{"prompt", "a"}, {"max_tokens", 1}};
  for (int i = 0; i < 16; ++i) body["extra" + std::to_string(i)] = std::string(10'000, 'x');
  EXPECT_EQ(client.Post("/v1/completions", body).status, 200);
  body["extra16"] = 1;
  EXPECT_EQ(client.Post("/v1/completions", body).status, 400);
}

TEST_F(IgnoreUnknownFieldsTest, PathCountsOnceAcrossMessages) {
  StartIgnoring();
  json messages = json::array();
  for (int i = 0; i < 40; ++i) {
    messages.push_back({{"role", i % 2 == 0 ? "user" : "assistant"},
                        {"content", "a"},
                        {"weight", 1},
                        {"id", absl::StrCat("m", i)}});
  }
  json body = {{"messages", messages}, {"max_tokens", 1}};
  HttpClient client = Connect();
  client.Send(PostRequest("/v1/chat/completions", body.dump()));
  const std::string head = client.ReceiveSome();
  EXPECT_THAT(head, HasSubstr("200 OK"));
  for (const char* name : {"messages[0].weight", "messages[0].id"}) {
    EXPECT_THAT(head, HasSubstr(absl::StrCat("X-Ignored-Fields: ", name, "\r\n")));
  }
  EXPECT_THAT(head, Not(HasSubstr("messages[1]")));
  // Two paths are taken by the messages.
  for (int i = 0; i < 14; ++i) body[absl::StrCat("extra", i)] = i;
  EXPECT_EQ(Connect().Post("/v1/chat/completions", body).status, 200);
  body["extra14"] = 1;
  EXPECT_EQ(Connect().Post("/v1/chat/completions", body).status, 400);
}

TEST_F(IgnoreUnknownFieldsTest, RejectsOnePathInTooManyMessages) {
  StartIgnoring();
  // The body is read again for each message, up to 8 MiB in all: few large messages take less time
  // than many small ones.
  json messages = json::array();
  for (int i = 0; i < 12; ++i) {
    messages.push_back({{"role", "user"}, {"content", std::string(80'000, 'a')}, {"weight", 1}});
  }
  const HttpReply reply = Connect().Post("/v1/chat/completions", json{{"messages", messages}});
  EXPECT_EQ(reply.status, 400);
  EXPECT_THAT(std::string(reply.Json()["error"]["param"]), HasSubstr("].weight"));
}

TEST_F(IgnoreUnknownFieldsTest, RejectsUnknownFieldsByDefault) {
  Start();
  const HttpReply reply = Connect().Post("/v1/completions", json{{"prompt", "a"}, {"extra", 1}});
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.Json()["error"]["param"], "extra");
}

}  // namespace
}  // namespace shortlist
