#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "nlohmann/json.hpp"
#include "tests/serve/embeddings/encoder_fixture.h"

namespace shortlist {
namespace {

namespace asio = boost::asio;
using nlohmann::json;
using testing::HasSubstr;

class PicturesTest : public EncoderTest {
 protected:
  PicturesTest() {
    AddPictures("clip");
    AddVectors("words");
  }

  std::string Refused(const std::string& path, const json& body) {
    return Post(path, body, 400).at("error").at("message");
  }
  std::string RefusedItem(const json& item, const std::string& model = "clip") {
    return Refused("/v1/embeddings", {{"model", model}, {"input", json::array({item})}});
  }
  static json Numbers(const json& reply) {
    json numbers = json::array();
    for (const json& entry : reply.is_array() ? reply : reply.at("data")) {
      numbers.push_back(entry.at("embedding").at(0));
    }
    return numbers;
  }
};

TEST_F(PicturesTest, TextsAndPicturesMayBeMixed) {
  StartAll();
  const json reply = Post("/v1/embeddings", json::parse(R"({"input": [
      {"image": "AAAA"}, {"text": "the cat"}, "a", {"text": null, "image": "AAAAAA"},
      {"text": "padding", "image": "AAA"}, {"text": "the cat", "image": null}, [7, 8]]})"));
  EXPECT_EQ(reply.at("model"), "clip");
  EXPECT_EQ(Numbers(reply), json::parse("[4, 4, 3, 6, 3, 4, 2]"));
  EXPECT_EQ(reply.at("usage").at("prompt_tokens"), 26);
  EXPECT_EQ(Numbers(Post("/v1/embeddings", {{"input", {{"image", "AAAA"}}}})), json::parse("[4]"));
}

TEST_F(PicturesTest, RejectsBadItemsByName) {
  StartAll();
  EXPECT_THAT(RefusedItem({{"image", "AA"}}, "words"),
              HasSubstr("input[0].image: `words` reads texts, and no pictures"));
  EXPECT_THAT(RefusedItem({{"text", "a cat"}, {"image", "AA"}}),
              HasSubstr("input[0].text: with a picture: `clip` makes a vector of either"));
  EXPECT_THAT(RefusedItem(json::object()), HasSubstr("neither a text nor a picture is there"));
  EXPECT_THAT(RefusedItem({{"text", nullptr}, {"image", nullptr}}), HasSubstr("neither a text"));
  EXPECT_THAT(RefusedItem({{"text", "a"}, {"video", "AA"}}),
              HasSubstr("input[0].video: not supported"));
  EXPECT_THAT(RefusedItem({{"audio", "AA"}}), HasSubstr("input[0].audio: not supported"));
  EXPECT_THAT(RefusedItem({{"image", 7}}), HasSubstr("input[0].image: not a picture in base64"));
  EXPECT_THAT(RefusedItem({{"image", ""}}), HasSubstr("input[0].image: not a picture in base64"));
  EXPECT_THAT(RefusedItem({{"text", 7}}), HasSubstr("input[0].text: not a text"));
  EXPECT_THAT(RefusedItem({{"txet", "a"}}), HasSubstr("input[0].txet"));
  EXPECT_THAT(RefusedItem({{"image", "broken"}}), HasSubstr("input[0]: PNG: truncated"));
}

TEST_F(PicturesTest, TextDoesNotWaitForPicturesOfSameClient) {
  StartAll();
  FakeEncoder& clip = *encoders_[0];
  clip.picture_us = 20'000;
  constexpr int kNumPictures = 100;
  std::thread pictures([&] {
    const json input(kNumPictures, json{{"image", "AA"}});
    EXPECT_EQ(Post("/v1/embeddings", {{"input", input}}).at("data").size(), kNumPictures);
  });
  EXPECT_TRUE(Await([&] { return clip.num_pictures > 0; }));
  Post("/v1/embeddings", {{"input", "the cat"}});
  EXPECT_LT(clip.num_pictures, kNumPictures / 2);
  pictures.join();
}

/// Answers every request with the same bytes, on a thread of its own, which ends with it.
class PictureHost {
 public:
  explicit PictureHost(std::string reply) : reply_(std::move(reply)) {
    thread_ = std::thread([this] {
      for (;;) {
        boost::system::error_code error;
        asio::ip::tcp::socket socket = acceptor_.accept(error);
        if (error || ended_) return;
        std::string head;
        asio::read_until(socket, asio::dynamic_buffer(head), "\r\n\r\n", error);
        asio::write(socket, asio::buffer(reply_), error);
        if (error || reply_.empty()) kept_.push_back(std::move(socket));
      }
    });
  }
  ~PictureHost() {
    ended_ = true;
    boost::system::error_code ignored;
    asio::ip::tcp::socket(io_).connect(acceptor_.local_endpoint(), ignored);
    thread_.join();
  }
  std::string authority() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }

 private:
  const std::string reply_;  // empty: it is silent
  asio::io_context io_;
  asio::ip::tcp::acceptor acceptor_{io_, {asio::ip::address_v4::loopback(), 0}};
  std::vector<asio::ip::tcp::socket> kept_;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

TEST_F(PicturesTest, UrlsOfListedHostsAreFetched) {
  const PictureHost host("HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\npicture");
  StartAll([&](Server::Options& options) { options.fetch.hosts = {host.authority()}; });
  const std::string url = "http://" + host.authority() + "/a.png";
  const json reply =
      Post("/v1/embeddings", {{"input", {{{"image", "AAA"}}, {{"image", url}}, "a"}}});
  EXPECT_EQ(Numbers(reply), json::parse("[3, 7, 3]"));
  EXPECT_EQ(Post("/encode", {{"image_data", url}}).at("embedding").at(0), 7);
  EXPECT_THAT(RefusedItem({{"image", "https://example.org/a.png"}}),
              HasSubstr("input[0]: an address of example.org:443, which is none of"));
  json many = {{"input", json::array()}};
  for (int i = 0; i < 65; ++i) many["input"].push_back({{"image", url}});
  EXPECT_THAT(Post("/v1/embeddings", many, 400).at("error").at("message").get<std::string>(),
              HasSubstr("input[64]: an address more than the 64 of a request"));
}

TEST_F(PicturesTest, SilentHostDelaysNoOtherRequest) {
  const PictureHost host("");
  StartAll([&](Server::Options& options) {
    options.fetch.hosts = {host.authority()};
    options.fetch.timeout = std::chrono::milliseconds(700);
  });
  std::atomic<bool> is_answered = false;
  std::thread slow([&] {
    EXPECT_THAT(RefusedItem({{"image", "http://" + host.authority() + "/"}}),
                HasSubstr("no answer in time"));
    is_answered = true;
  });
  for (int i = 0; i < 20; ++i) Post("/v1/embeddings", {{"input", {{{"image", "AA"}}, "a"}}});
  EXPECT_FALSE(is_answered);
  slow.join();
}

TEST_F(PicturesTest, WithoutFlagNoUrlIsFetched) {
  StartAll();
  EXPECT_THAT(RefusedItem({{"image", "HTTP://127.0.0.1/a.png"}}),
              HasSubstr("input[0]: an address (HTTP:), which is not fetched without"));
}

TEST_F(PicturesTest, EncodeAcceptsImageData) {
  StartAll();
  const json one = Post("/encode", {{"image_data", "AAAA"}});
  EXPECT_EQ(one.at("embedding").at(0), 4);
  EXPECT_EQ(one.at("meta_info").at("prompt_tokens"), 4);
  EXPECT_EQ(Post("/encode", {{"text", "padding"}, {"image_data", "AAA"}}).at("embedding").at(0), 3);
  EXPECT_EQ(Post("/encode", {{"text", ""}, {"image_data", {"AAA"}}}).at("embedding").at(0), 3);
  EXPECT_EQ(Numbers(Post("/encode", {{"image_data", {"AAAA", "AA"}}})), json::parse("[4, 2]"));
  EXPECT_EQ(
      Numbers(Post("/encode",
                   json::parse(R"({"text": ["a", "padding"], "image_data": [null, "AAAAA"]})"))),
      json::parse("[3, 5]"));
}

TEST_F(PicturesTest, RejectsBadImageDataByName) {
  StartAll();
  const auto refused = [&](const char* body) { return Refused("/encode", json::parse(body)); };
  EXPECT_THAT(refused(R"({"text": ["a"], "image_data": ["A", "B"]})"),
              HasSubstr("image_data: 2 pictures for 1 text"));
  EXPECT_THAT(refused(R"({"text": ["a", "b"], "image_data": "A"})"),
              HasSubstr("image_data: 1 picture for 2 texts"));
  EXPECT_THAT(refused(R"({"image_data": []})"), HasSubstr("image_data: a list that is empty"));
  EXPECT_THAT(refused(R"({"image_data": [null]})"), HasSubstr("neither a text nor a picture"));
  EXPECT_THAT(refused(R"({"image_data": [{"url": "x"}]})"),
              HasSubstr("image_data[0]: not a picture in base64"));
  EXPECT_THAT(refused(R"({"input_ids": [1], "image_data": "A"})"),
              HasSubstr("image_data: goes with text alone"));
  EXPECT_THAT(refused(R"({"image_data": "A", "video_data": "B"})"),
              HasSubstr("video_data: not supported"));
  EXPECT_THAT(refused(R"({"image_data": "A", "audio_data": "B"})"),
              HasSubstr("audio_data: not supported"));
  EXPECT_THAT(refused(R"({"model": "words", "image_data": "A"})"),
              HasSubstr("image_data: `words` reads texts, and no pictures"));
}

}  // namespace
}  // namespace shortlist
