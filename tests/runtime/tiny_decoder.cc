#include "tests/runtime/tiny_decoder.h"

#include <vector>

#include "base/check.h"
#include "base/json.h"
#include "tests/model/model_fixture.h"
#include "tests/support/checkpoint_writer.h"

namespace shortlist {

TinyDecoder::TinyDecoder(const std::string& path)
    : golden_(
          ReadJsonFile(SourcePath("tests/reference/golden/" + path + ".json"), 1 << 20).value()) {}

void TinyDecoder::AddFile(const std::string& file, const nlohmann::json& contents) {
  dir_.Write(file, contents.dump());
}

std::string TinyDecoder::Write() {
  AddFile("config.json", golden_["config"]);
  std::vector<StoredTensor> tensors;
  for (const auto& [name, shape] : golden_["tensors"].items()) {
    const auto extents = shape.get<std::vector<int64_t>>();
    tensors.push_back(MakeTensor(name, extents, GoldenWeights(name, extents), DType::kF32));
  }
  SHORTLIST_CHECK(WriteSafetensors(dir_.Join("model.safetensors"), tensors).ok());
  return dir_.path();
}

}  // namespace shortlist
