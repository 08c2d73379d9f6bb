#include "tests/model/encoder_fixture.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "tests/model/model_fixture.h"

namespace shortlist {
namespace {

std::string GoldenDir() { return SourcePath("tests/reference/golden/encoders"); }

}  // namespace

std::vector<std::string> GoldenEncoder::Names() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(GoldenDir())) {
    names.push_back(file.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

GoldenEncoder::GoldenEncoder(const std::string& name) {
  const nlohmann::json golden = ReadJsonFile(GoldenDir() + "/" + name + ".json", 1 << 20).value();
  config = golden["config"];
  for (const auto& [tensor, shape] : golden["tensors"].items()) {
    const auto extents = shape.get<std::vector<int64_t>>();
    tensors.push_back(MakeTensor(tensor, extents, GoldenWeights(tensor, extents), DType::kF32));
  }
  for (const auto& sequence : golden["sequences"]) {
    Text text = {sequence["token_ids"].get<std::vector<int32_t>>(),
                 sequence["token_type_ids"].get<std::vector<int32_t>>(),
                 {}};
    for (const auto& row : sequence["hidden"]) {
      for (const auto& value : row) text.hidden.push_back(value.get<float>());
    }
    texts.push_back(std::move(text));
  }
}

std::string GoldenEncoder::Write() const {
  dir_.Write("config.json", config.dump());
  SHORTLIST_CHECK(WriteSafetensors(dir_.Join("model.safetensors"), tensors).ok());
  return dir_.path();
}

std::unique_ptr<Encoder> LoadEncoderOrDie(const std::string& dir, std::optional<DType> dtype,
                                          ThreadPool& pool, std::optional<DType> quantize) {
  auto encoder = Encoder::Load(ModelSource::OfDirectory(dir), dtype, pool, quantize);
  if (!encoder.ok()) std::fprintf(stderr, "%s\n", encoder.status().ToString().c_str());
  SHORTLIST_CHECK(encoder.ok());
  return std::move(encoder).value();
}

std::vector<std::vector<float>> Encode(Encoder& encoder,
                                       const std::vector<GoldenEncoder::Text>& texts) {
  std::vector<int32_t> ids, types, begin = {0};
  for (const GoldenEncoder::Text& text : texts) {
    ids.insert(ids.end(), text.token_ids.begin(), text.token_ids.end());
    types.insert(types.end(), text.token_type_ids.begin(), text.token_type_ids.end());
    begin.push_back(static_cast<int32_t>(ids.size()));
  }
  const std::vector<float> hidden = ToVector(encoder.Forward({ids, types, begin}).value());
  std::vector<std::vector<float>> result;
  const int64_t width = encoder.config().hidden;
  for (size_t s = 0; s < texts.size(); ++s) {
    result.emplace_back(hidden.begin() + begin[s] * width, hidden.begin() + begin[s + 1] * width);
  }
  return result;
}

}  // namespace shortlist
