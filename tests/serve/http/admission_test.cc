#include "serve/http/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "serve/http/socket.h"
#include "tests/serve/serve_fixture.h"

namespace shortlist {
namespace {

std::string Counted(const std::string& address) {
  return CountedAddress(boost::asio::ip::make_address(address));
}

constexpr int64_t kMiB = 1 << 20;

using Kind = HttpAdmission::Kind;
using testing::ElementsAre;

class PlacesTest : public testing::Test {
 protected:
  Kind Open(const std::string& name, const std::string& address, bool is_idle = false) {
    places_.push_back(std::make_unique<HttpAdmission::Place>(
        admission_, address, [this, name] { closed_.push_back(name); }));
    places_.back()->SetIdle(is_idle);
    return places_.back()->kind();
  }

  HttpAdmission admission_{{.max_body_bytes = 40 * kMiB,
                            .max_connections = 4,
                            .max_connections_per_address = 3,
                            .max_total_body_bytes = 100 * kMiB,
                            .yield_after = std::chrono::milliseconds(0)}};
  std::vector<std::string> closed_;
  std::vector<std::unique_ptr<HttpAdmission::Place>> places_;
};

TEST_F(PlacesTest, LongestIdleConnectionYields) {
  EXPECT_EQ(Open("a", "1.1.1.1"), Kind::kServed);
  EXPECT_EQ(Open("b", "1.1.1.1", /*is_idle=*/true), Kind::kServed);
  EXPECT_EQ(Open("c", "1.1.1.2", /*is_idle=*/true), Kind::kServed);
  EXPECT_EQ(Open("d", "1.1.1.3"), Kind::kServed);
  places_[0]->SetIdle(true);
  EXPECT_EQ(Open("e", "1.1.1.4"), Kind::kServed);
  EXPECT_EQ(Open("f", "1.1.1.5"), Kind::kServed);
  EXPECT_EQ(Open("g", "1.1.1.5"), Kind::kServed);
  EXPECT_EQ(Open("h", "1.1.1.5"), Kind::kSpare);
  EXPECT_THAT(closed_, ElementsAre("b", "c", "a"));
}

TEST_F(PlacesTest, AddressYieldsToItselfOnly) {
  Open("a", "2.2.2.2", /*is_idle=*/true);
  Open("b", Counted("::ffff:1.1.1.1"));
  Open("c", "1.1.1.1", /*is_idle=*/true);
  places_.push_back(nullptr);
  EXPECT_EQ(Open("d", "1.1.1.1"), Kind::kServed);
  EXPECT_EQ(Open("e", "1.1.1.1"), Kind::kServed);
  EXPECT_THAT(closed_, ElementsAre("c"));
  EXPECT_EQ(Open("f", "1.1.1.1"), Kind::kSpare);
}

TEST_F(PlacesTest, Ipv6HostIsOneAddress) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Open("", Counted("2001:db8:1:2::" + std::to_string(i))), Kind::kServed);
  }
  EXPECT_EQ(Open("", Counted("2001:db8:1:2:ffff::1")), Kind::kSpare);
  EXPECT_EQ(Open("", Counted("2001:db8:1:3::1")), Kind::kServed);
}

TEST_F(PlacesTest, ExcessConnectionsAreRefusedThenDropped) {
  int num[4] = {};
  for (int i = 0; i < 200; ++i) ++num[static_cast<int>(Open("", "1.1.1." + std::to_string(i)))];
  EXPECT_EQ(num[static_cast<int>(Kind::kServed)], 4);
  EXPECT_GT(num[static_cast<int>(Kind::kSpare)], 4);
  EXPECT_GT(num[static_cast<int>(Kind::kRefused)], 4);
  EXPECT_GT(num[static_cast<int>(Kind::kDropped)], 4);
  places_.clear();
  EXPECT_EQ(Open("", "1.1.1.1"), Kind::kServed);
}

TEST_F(PlacesTest, OneAddressHoldsAtMostHalfOfBytes) {
  Open("a", "1.1.1.1");
  Open("b", "1.1.1.1");
  Open("c", "1.1.1.2");
  Open("d", "1.1.1.3");
  EXPECT_TRUE(places_[0]->SetBody(40 * kMiB));
  EXPECT_FALSE(places_[1]->SetBody(11 * kMiB));
  EXPECT_TRUE(places_[1]->SetBody(10 * kMiB));
  EXPECT_TRUE(places_[2]->SetBody(40 * kMiB));
  EXPECT_FALSE(places_[3]->SetBody(11 * kMiB));
  EXPECT_TRUE(places_[3]->SetBody(10 * kMiB));
  places_[0].reset();
  EXPECT_TRUE(places_[3]->SetBody(40 * kMiB));
  EXPECT_TRUE(places_[3]->SetBody(0));
}

TEST_F(PlacesTest, SmallReplyPassesWhenOthersLeaveRoom) {
  Open("a", "1.1.1.1");
  Open("b", "1.1.1.1");
  Open("c", "1.1.1.2");
  EXPECT_TRUE(places_[0]->SetReply(500 * kMiB));
  EXPECT_FALSE(places_[1]->SetReply(kMiB));
  EXPECT_FALSE(places_[2]->SetReply(kMiB));
  EXPECT_TRUE(places_[2]->SetReply(1 << 10));
  EXPECT_TRUE(places_[0]->SetReply(0));
  EXPECT_TRUE(places_[1]->SetReply(kMiB));
  EXPECT_TRUE(places_[2]->SetReply(500 * kMiB));
}

TEST_F(PlacesTest, WrongKeysCountByAddress) {
  Open("a", "1.1.1.1");
  Open("b", "1.1.1.2");
  int num_taken = 0;
  while (num_taken < 100 && !places_[0]->NoteWrongKey()) ++num_taken;
  EXPECT_EQ(num_taken, 30);
  EXPECT_FALSE(places_[1]->NoteWrongKey());
}

class HttpAdmissionTest : public ServeTest {};

TEST_F(HttpAdmissionTest, IdleConnectionsYieldToNewOnes) {
  Start([](Server::Options& options) {
    options.http.limits.max_connections = 64;
    options.http.limits.max_connections_per_address = 8;
    options.http.limits.yield_after = std::chrono::milliseconds(0);
  });
  std::vector<std::unique_ptr<HttpClient>> idle;
  for (int i = 0; i < 8; ++i) {
    idle.push_back(std::make_unique<HttpClient>(port()));
    // Some have never asked for anything, some have half a header.
    if (i % 3 == 0) {
      EXPECT_EQ(idle.back()->Get("/health").status, 200);
    }
    if (i % 3 == 1) idle.back()->Send("GET /health HT");
  }
  for (int i = 0; i < 8; ++i) EXPECT_EQ(Connect().Get("/health").status, 200);
  HttpClient another = Connect();
  EXPECT_EQ(another.Get("/health").status, 200);
  // The one that was idle longest: which it is depends on when the server learns that replies left.
  EXPECT_TRUE(Await([&idle] {
    return std::any_of(idle.begin(), idle.end(), [](const std::unique_ptr<HttpClient>& client) {
      return client->AwaitClose(std::chrono::milliseconds(60));
    });
  }));
}

TEST_F(HttpAdmissionTest, BurstBeyondLimitGetsError) {
  Start([](Server::Options& options) {
    options.http.limits.max_connections = 8;
    options.http.limits.yield_after = std::chrono::hours(1);
  });
  std::vector<std::unique_ptr<HttpClient>> burst;
  for (int i = 0; i < 24; ++i) burst.push_back(std::make_unique<HttpClient>(port()));
  // Half of the places are one address's, and as many spare ones. A refusal is immediate.
  for (int i = 8; i < 24; ++i) EXPECT_EQ(burst[i]->Receive().status, 503);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(burst[i]->Get("/v1/models").status, i < 4 ? 200 : 503);
  }
}

TEST_F(HttpAdmissionTest, HealthAnsweredWhenSaturated) {
  engine_.step_us = 2000;
  Start([](Server::Options& options) { options.http.limits.max_connections = 2; });
  HttpClient busy[] = {HttpClient(port()), HttpClient(port())};
  for (HttpClient& client : busy) {
    client.Send(
        PostRequest("/generate", R"({"text": "a", "sampling_params": {"max_new_tokens": 900}})"));
  }
  ASSERT_TRUE(Await([this] { return engine_.num_live >= 1; }));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Connect().Get("/health").status, 200);
    EXPECT_EQ(Connect().Get("/metrics").status, 200);
    const HttpReply refused = Connect().Post("/generate", R"({"text": "a"})");
    EXPECT_EQ(refused.status, 503);
    EXPECT_EQ(refused.headers.count("retry-after"), 1u);
  }
}

TEST_F(HttpAdmissionTest, UnfinishedBodiesShareBudget) {
  Start([](Server::Options& options) {
    options.http.limits.max_body_bytes = 1 << 20;
    options.http.limits.max_total_body_bytes = 1 << 20;
  });
  const std::string header =
      "POST /generate HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"
      "Content-Length: 1000000\r\n\r\n";
  {
    // An announced body holds no memory.
    std::vector<std::unique_ptr<HttpClient>> announced;
    for (int i = 0; i < 20; ++i) {
      announced.push_back(std::make_unique<HttpClient>(port()));
      announced.back()->Send(header);
    }
    HttpClient first = Connect(), second = Connect(), third = Connect();
    first.Send(header + std::string(500'000, ' '));
    second.Send(header + std::string(500'000, ' '));
    third.Send(header + std::string(500'000, ' '));
    int num_refused = 0;
    for (HttpClient* client : {&first, &second, &third}) {
      const HttpReply reply = client->Receive(/*is_head=*/false, std::chrono::milliseconds(300));
      if (reply.status == 0) continue;
      ++num_refused;
      EXPECT_EQ(reply.status, 503);
      EXPECT_EQ(reply.headers.count("retry-after"), 1u);
    }
    EXPECT_GE(num_refused, 1);
    EXPECT_LE(num_refused, 2);
  }
  const std::string body = R"({"text": "a"})" + std::string(900'000, ' ');
  EXPECT_TRUE(Await([&] { return Connect().Post("/generate", body).status == 200; }));
}

}  // namespace
}  // namespace shortlist
