#include "serve/http/auth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

using testing::HasSubstr;
using testing::Not;

const Route kPublicRoute{.access = Access::kPublic};
const Route kKeyRoute{.access = Access::kKey};
const Route kAdminRoute{.access = Access::kAdmin};

using Headers = std::vector<std::pair<std::string, std::string>>;

Headers Bearer(const std::string& key) { return {{"Authorization", "Bearer " + key}}; }

class AuthTest : public testing::Test {
 protected:
  void Make(const Keys& keys) {
    absl::StatusOr<Authorizer> made = Authorizer::Create(keys);
    ASSERT_TRUE(made.ok()) << made.status();
    authorizer_ = *std::move(made);
  }
  /// The code that a request with these headers gets; its client is client_ then.
  absl::StatusCode CodeFor(const Route& route, const Headers& headers) {
    HttpRequest request;
    request.peer = "127.0.0.1";
    request.headers = headers;
    const absl::Status status = authorizer_->Authorize(route, request);
    client_ = request.client;
    return status.code();
  }

  std::optional<Authorizer> authorizer_;
  Client client_;
};

TEST_F(AuthTest, EachKeyIsAcceptedAsItsOwnClient) {
  Make({{{"", "first"}, {"alice", "second"}, {"", "third"}}, "root"});
  std::vector<Client> clients;
  for (const char* key : {"first", "second", "third", "root"}) {
    EXPECT_EQ(CodeFor(kKeyRoute, Bearer(key)), absl::StatusCode::kOk) << key;
    clients.push_back(client_);
    EXPECT_EQ(client_.cache_salt.size(), 32u);
    EXPECT_EQ(CodeFor(kAdminRoute, Bearer(key)), std::string(key) == "root"
                                                     ? absl::StatusCode::kOk
                                                     : absl::StatusCode::kUnauthenticated);
  }
  EXPECT_EQ(clients[0].name, "key 1");
  EXPECT_EQ(clients[1].name, "alice");
  EXPECT_EQ(clients[2].name, "key 3");
  EXPECT_EQ(clients[3].name, "admin key");
  for (size_t i = 0; i < clients.size(); ++i) {
    for (size_t j = 0; j < i; ++j) EXPECT_NE(clients[i].cache_salt, clients[j].cache_salt);
  }
  CodeFor(kKeyRoute, Bearer("second"));
  EXPECT_EQ(client_.cache_salt, clients[1].cache_salt);
}

TEST_F(AuthTest, WrongKeyIsRejected) {
  Make({{{"", "first"}, {"", "second"}}, ""});
  for (const char* key : {"", "f", "firs", "firstfirst", "firsT", "secondfirst"}) {
    EXPECT_EQ(CodeFor(kKeyRoute, Bearer(key)), absl::StatusCode::kUnauthenticated) << key;
    EXPECT_EQ(client_.name, "addr 127.0.0.1");
    EXPECT_EQ(client_.cache_salt, "");
  }
  EXPECT_EQ(CodeFor(kKeyRoute, {}), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(CodeFor(kKeyRoute, {{"Authorization", "Basic first"}}),
            absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(CodeFor(kPublicRoute, Bearer("wrong")), absl::StatusCode::kOk);
  EXPECT_EQ(CodeFor(kAdminRoute, Bearer("first")), absl::StatusCode::kPermissionDenied);
}

TEST_F(AuthTest, TwoKeysInOneRequestMustAgree) {
  Make({{{"", "first"}, {"", "second"}}, ""});
  const Headers refused[] = {{{"Authorization", "Bearer first"}, {"authorization", "Bearer first"}},
                             {{"Authorization", "Bearer wrong"}, {"Authorization", "Bearer first"}},
                             {{"Authorization", "Basic abc"}, {"Authorization", "Bearer first"}},
                             {{"X-Api-Key", "first"}, {"x-api-key", "first"}},
                             {{"Authorization", "Bearer first"}, {"X-Api-Key", "second"}},
                             {{"X-Api-Key", "wrong"}, {"Authorization", "Bearer first"}}};
  for (const Headers& headers : refused) {
    EXPECT_EQ(CodeFor(kKeyRoute, headers), absl::StatusCode::kUnauthenticated);
    EXPECT_EQ(client_.name, "addr 127.0.0.1");
  }
  EXPECT_EQ(CodeFor(kKeyRoute, {{"Authorization", "Bearer first"}, {"X-Api-Key", "first"}}),
            absl::StatusCode::kOk);
  EXPECT_EQ(CodeFor(kKeyRoute, {{"Authorization", "Basic of-a-proxy"}, {"X-Api-Key", "first"}}),
            absl::StatusCode::kOk);
  EXPECT_EQ(CodeFor(kKeyRoute, {{"Authorization", "BEARER   first \t"}}), absl::StatusCode::kOk);
}

TEST_F(AuthTest, WithoutKeysClientsAreAddresses) {
  Make({});
  EXPECT_EQ(CodeFor(kKeyRoute, Bearer("whatever clients send")), absl::StatusCode::kOk);
  EXPECT_EQ(client_.name, "addr 127.0.0.1");
  EXPECT_EQ(client_.cache_salt, "");
  EXPECT_EQ(CodeFor(kAdminRoute, Bearer("")), absl::StatusCode::kPermissionDenied);
}

TEST_F(AuthTest, AdminKeyAloneLeavesOtherRoutesOpen) {
  Make({{}, "root"});
  EXPECT_EQ(CodeFor(kKeyRoute, {}), absl::StatusCode::kOk);
  EXPECT_EQ(client_.name, "addr 127.0.0.1");
  EXPECT_EQ(CodeFor(kKeyRoute, Bearer("root")), absl::StatusCode::kOk);
  EXPECT_EQ(client_.name, "admin key");
  EXPECT_EQ(CodeFor(kAdminRoute, Bearer("none")), absl::StatusCode::kUnauthenticated);
}

TEST_F(AuthTest, AmbiguousKeysAreRejectedAndNeverPrinted) {
  const std::pair<Keys, const char*> cases[] = {
      {{{{"", "secret"}, {"", "other"}, {"", "secret"}}, ""}, "\"key 1\" and \"key 3\""},
      {{{{"", "secret"}}, "secret"}, "\"key 1\" and \"admin key\""},
      {{{{"bob", "secret"}, {"bob", "other"}}, ""}, "\"bob\""},
      {{{{"", ""}}, ""}, "key 1: the key is empty"},
      {{{{"", " secret"}}, ""}, "key 1: a key is visible ASCII"},
      {{{{"", "sec\xc3\xa4ret"}}, ""}, "key 1: a key is visible ASCII"},
      {{{}, std::string(513, 'a')}, "admin key: a key of 513 bytes, more than 512"}};
  for (const auto& [keys, words] : cases) {
    const absl::Status status = Authorizer::Create(keys).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret")));
  }
}

class KeyFileTest : public testing::Test {
 protected:
  ~KeyFileTest() override { std::remove(path_.c_str()); }
  absl::StatusOr<std::vector<NamedKey>> Read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return ReadKeyFile(path_);
  }
  const std::string path_ = testing::TempDir() + "keys-" + std::to_string(getpid());
};

TEST_F(KeyFileTest, HoldsKeysWithAndWithoutNames) {
  const auto keys = Read("# ours\n\nfirst\r\n  alice \t second  \n\t# theirs\nthird");
  ASSERT_TRUE(keys.ok()) << keys.status();
  ASSERT_EQ(keys->size(), 3u);
  EXPECT_EQ((*keys)[0].name, "");
  EXPECT_EQ((*keys)[0].key, "first");
  EXPECT_EQ((*keys)[1].name, "alice");
  EXPECT_EQ((*keys)[1].key, "second");
  EXPECT_EQ((*keys)[2].key, "third");
}

TEST_F(KeyFileTest, ErrorsNameLineButNoKey) {
  std::string many;
  for (int i = 0; i <= 1000; ++i) many += "secret" + std::to_string(i) + "\n";
  const std::pair<std::string, const char*> cases[] = {
      {"", "no key in it"},
      {"# only\n\n", "no key in it"},
      {"first\nalice secret more\n", "line 2: a key is visible ASCII"},
      {"first\n\nsec\x01ret\n", "line 3: a key is visible ASCII"},
      {"a\n" + std::string(513, 'k'), "line 2: a key of 513 bytes"},
      {std::string(65, 'n') + " secret", "line 1: a name is 1 to 64"},
      {std::string("sec\0ret", 7), "line 1: a key is visible ASCII"},
      {many, "line 1001: more than 1000 keys"}};
  for (const auto& [text, words] : cases) {
    const absl::Status status = Read(text).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << words;
    EXPECT_THAT(std::string(status.message()), HasSubstr(words));
    EXPECT_THAT(std::string(status.message()), Not(HasSubstr("secret")));
  }
  EXPECT_EQ(ReadKeyFile(path_ + "-none").status().code(), absl::StatusCode::kNotFound);
}

class ServerKeysTest : public ServeTest {};

TEST_F(ServerKeysTest, SeveralKeysAreAccepted) {
  Start([](Server::Options& options) { options.keys = {{{"", "one"}, {"two", "too"}}, "root"}; });
  HttpClient client = Connect();
  EXPECT_EQ(client.Get("/v1/models", "Authorization: Bearer one\r\n").status, 200);
  EXPECT_EQ(client.Get("/v1/models", "Authorization: Bearer too\r\n").status, 200);
  EXPECT_EQ(client.Get("/v1/models", "Authorization: Bearer two\r\n").status, 401);
  EXPECT_EQ(client.Get("/v1/models", "X-Api-Key: one\r\nX-Api-Key: one\r\n").status, 401);
}

}  // namespace
}  // namespace shortlist
