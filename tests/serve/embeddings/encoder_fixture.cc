#include "tests/serve/embeddings/encoder_fixture.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <sstream>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/clock.h"

namespace shortlist {
namespace {

constexpr int64_t kMaxTokens = 16;
constexpr int32_t kNan = 20'000;  // no id of a request

void AppendWords(const std::string& text, std::vector<TokenId>& ids) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    ids.push_back(TokenId{word == "nan" ? kNan : 10 + static_cast<int32_t>(word.size())});
  }
  ids.push_back(TokenId{2});
}

absl::StatusOr<EncodeInput> Prepare(const std::string& instruction, const EncodeSource& source,
                                    const EncodeCut& cut) {
  EncodeInput input{.ids = source.ids};
  if (!source.picture.empty()) {
    if (source.picture == "broken") return absl::InvalidArgumentError("PNG: truncated");
    input.ids.assign(source.picture.size(), TokenId{5});
    return input;
  }
  if (source.context != nullptr) {
    const EncodeSource& front = source.context_behind ? source : *source.context;
    const EncodeSource& back = source.context_behind ? *source.context : source;
    input.ids = front.ids;
    input.ids.insert(input.ids.end(), back.ids.begin(), back.ids.end());
    if (input.ids.empty()) AppendWords(front.text + back.text, input.ids);
  } else if (source.ids.empty()) {
    input.ids.push_back(TokenId{1});
    AppendWords(instruction + (source.first != nullptr ? *source.first : source.text), input.ids);
    if (source.first != nullptr) AppendWords(source.text, input.ids);
  }
  const auto most = static_cast<size_t>(cut.max_tokens.value_or(kMaxTokens));
  if (input.ids.size() <= most) return input;
  if (!cut.truncates) return absl::OutOfRangeError(absl::StrCat("more than ", most, " tokens"));
  if (cut.keeps_end.value_or(false)) {
    input.ids.erase(input.ids.begin(), input.ids.end() - static_cast<int64_t>(most));
  }
  input.ids.resize(most);
  return input;
}

/// Adds outputs in addition to values, or instead of them for a query.
void AddOtherVectors(const EncodingLoop::Item& item, EncodeResult& result) {
  const EncodeWish& wish = *item.wish;
  std::map<TokenId, float> weights;
  std::vector<float> vectors;
  for (const TokenId id : item.input->ids) {
    const auto letters = static_cast<float>(Raw(id) - 10);
    if (Raw(id) < 10) continue;
    weights[id] = letters;
    vectors.insert(vectors.end(), {letters, -letters});
  }
  if (wish.sparse) {
    for (const auto& [id, weight] : weights) {
      if (weight > wish.sparse_cut.threshold) result.sparse.push_back({id, weight});
    }
    // Weights ascend.
    const auto top_n = static_cast<size_t>(wish.sparse_cut.top_n);
    if (top_n > 0 && result.sparse.size() > top_n) {
      result.sparse.erase(result.sparse.begin(), result.sparse.end() - wish.sparse_cut.top_n);
    }
  }
  if (wish.query != nullptr) {
    float sum = 0.0f;
    for (size_t q = 0; q < wish.query->size(); q += 2) {
      float best = -1e30f;
      for (size_t v = 0; v < vectors.size(); v += 2) {
        best = std::max(best, 2 * (*wish.query)[q] * vectors[v]);
      }
      sum += best;
    }
    result.values = {sum / static_cast<float>(wish.query->size() / 2)};
  }
  if (wish.multi_vector) result.multi_vector = std::move(vectors);
}

float Sigmoid(float logit) { return 1.0f / (1.0f + std::exp(-logit)); }

EncodeResult ResultOf(const ServedEncoder& encoder, const EncodingLoop::Item& item) {
  const std::vector<TokenId>& ids = item.input->ids;
  EncodeResult result;
  if (encoder.makes == ServedEncoder::Makes::kStates) {
    float sum = 1000.0f;
    if (item.wish->scores == EncodeWish::Scores::kSoftmax) {
      sum = 0.0f;
      for (const TokenId token : item.wish->next_tokens) sum += static_cast<float>(Raw(token));
    }
    for (const TokenId token : item.wish->next_tokens) {
      result.values.push_back(static_cast<float>(Raw(token)) / sum);
    }
  } else if (encoder.makes == ServedEncoder::Makes::kVectors) {
    float sum = 0.0f;
    for (size_t i = 0; i < ids.size(); ++i) sum += static_cast<float>((i + 1) * Raw(ids[i]));
    result.values = {static_cast<float>(ids.size()), sum, 0.1f, -2.5f};
    if (item.wish->dimensions > 0) result.values.resize(item.wish->dimensions);
    float square = 0.0f;
    for (const float value : result.values) square += value * value;
    for (float& value : result.values) {
      if (item.wish->normalizes == true) value /= std::sqrt(square);
    }
    if (!item.wish->dense) result.values.clear();
    AddOtherVectors(item, result);
  } else {
    for (int64_t k = 0; k < encoder.result_size; ++k) {
      const auto logit = static_cast<float>(std::ssize(ids) - 6 - k);
      result.values.push_back(item.wish->scores == EncodeWish::Scores::kRaw ? logit
                                                                            : Sigmoid(logit));
    }
  }
  for (const TokenId id : ids) {
    if (Raw(id) != kNan) continue;
    for (float& value : result.values) value = std::numeric_limits<float>::quiet_NaN();
  }
  return result;
}

}  // namespace

FakeEncoder::FakeEncoder(ServedEncoder described) : described_(std::move(described)) {
  described_.path = "/models/" + described_.name;
  described_.max_input_tokens = kMaxTokens;
  described_.vocab_size = 20'000;
  described_.prepare = [this](const std::string& instruction, const EncodeSource& source,
                              const EncodeCut& cut) {
    if (!source.picture.empty()) {
      if (picture_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(picture_us));
      ++num_pictures;
    }
    return Prepare(instruction, source, cut);
  };
  auto loop = EncodingLoop::Create({.max_input_tokens = kMaxTokens},
                                   [this](auto items, bool) { return Encode(items); });
  EXPECT_TRUE(loop.ok()) << loop.status();
  loop_ = *std::move(loop);
}

std::vector<EncodeResult> FakeEncoder::Encode(std::span<const EncodingLoop::Item> items) {
  if (pass_us > 0) std::this_thread::sleep_for(std::chrono::microseconds(pass_us));
  num_inputs += std::ssize(items);
  std::vector<EncodeResult> results;
  for (const EncodingLoop::Item& item : items) results.push_back(ResultOf(described_, item));
  return results;
}

EncoderTest::~EncoderTest() {
  if (server_ == nullptr) return;
  EXPECT_TRUE(AwaitIdle());
  Stop();
  server_.reset();  // before the encoders
}

void EncoderTest::AddVectors(const std::string& name) {
  ServedEncoder encoder{.name = name, .makes = ServedEncoder::Makes::kVectors, .result_size = 4};
  encoder.prompts = {{"query", "find: "}, {"document", ""}};
  encoders_.push_back(std::make_unique<FakeEncoder>(std::move(encoder)));
}

void EncoderTest::AddThreeKinds(const std::string& name) {
  ServedEncoder encoder{.name = name, .makes = ServedEncoder::Makes::kVectors, .result_size = 4};
  encoder.max_sparse_weights = 16;
  encoder.multi_vector_size = 2;
  encoder.prompts = {{"query", "find "}, {"document", ""}};
  encoders_.push_back(std::make_unique<FakeEncoder>(std::move(encoder)));
}

void EncoderTest::AddPictures(const std::string& name) {
  encoders_.push_back(
      std::make_unique<FakeEncoder>(ServedEncoder{.name = name,
                                                  .makes = ServedEncoder::Makes::kVectors,
                                                  .result_size = 4,
                                                  .reads_pictures = true}));
}

void EncoderTest::AddScores(const std::string& name, int64_t num_labels) {
  ServedEncoder encoder{
      .name = name, .makes = ServedEncoder::Makes::kScores, .result_size = num_labels};
  for (int64_t k = 0; k < num_labels; ++k) encoder.labels.push_back(absl::StrCat("LABEL_", k));
  encoders_.push_back(std::make_unique<FakeEncoder>(std::move(encoder)));
}

void EncoderTest::AddStates() {
  encoders_.push_back(std::make_unique<FakeEncoder>(
      ServedEncoder{.name = "demo", .makes = ServedEncoder::Makes::kStates, .result_size = 4}));
}

void EncoderTest::StartAll(const std::function<void(Server::Options&)>& change) {
  Start([&](Server::Options& options) {
    for (const auto& encoder : encoders_) {
      options.generator.encoders.push_back(encoder->described());
    }
    const Pipeline::Stepper engine = engine_.stepper();
    options.generator.router.exposed_step = [this, engine](std::vector<RouterMessage> messages) {
      std::vector<RouterMessage> others;
      for (RouterMessage& message : messages) {
        if (auto* embed = std::get_if<TokenizedEmbedReqInput>(&message)) {
          encoders_.at(embed->model)->loop().Add(std::move(*embed), SteadySeconds());
          continue;
        }
        if (const auto* abort = std::get_if<AbortReq>(&message)) {
          for (const auto& encoder : encoders_) encoder->loop().Abort(abort->rid);
        }
        others.push_back(std::move(message));
      }
      BatchTokenIdOut out;
      if (!others.empty() || !engine.idle()) out = engine.exposed_step(std::move(others));
      for (const auto& encoder : encoders_) {
        encoder->loop().Step(SteadySeconds());
        BatchTokenIdOut rows = encoder->loop().TakeRows();
        std::move(rows.rows.begin(), rows.rows.end(), std::back_inserter(out.rows));
      }
      return out;
    };
    options.generator.router.idle = [this, engine] {
      for (const auto& encoder : encoders_) {
        if (!encoder->loop().idle()) return false;
      }
      return engine.idle();
    };
    if (change) change(options);
  });
}

nlohmann::json EncoderTest::Post(const std::string& path, const nlohmann::json& body,
                                 int status) const {
  const HttpReply reply = Connect().Post(path, body.dump());
  EXPECT_EQ(reply.status, status) << path << " " << reply.body.substr(0, 1000);
  return reply.Json();
}

}  // namespace shortlist
