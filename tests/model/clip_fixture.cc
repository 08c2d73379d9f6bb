#include "tests/model/clip_fixture.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/json.h"
#include "tests/model/model_fixture.h"

namespace shortlist {
namespace {

std::string Golden(const std::string& path) { return SourcePath("tests/reference/golden/" + path); }

StoredTensor MakeGoldenTensor(const std::string& name, const std::vector<int64_t>& shape) {
  if (shape.empty()) return MakeTensor(name, shape, {2.5f}, DType::kF32);  // logit_scale
  return MakeTensor(name, shape, GoldenWeights(name, shape), DType::kF32);
}

}  // namespace

std::vector<std::string> GoldenClip::Names() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(Golden("clip"))) {
    names.push_back(file.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

GoldenClip::GoldenClip(const std::string& name) {
  const nlohmann::json golden = ReadJsonFile(Golden("clip/" + name + ".json"), 1 << 20).value();
  config = golden["config"];
  processor = golden["processor"];
  for (const auto& [tensor, shape] : golden["tensors"].items()) {
    tensors.push_back(MakeGoldenTensor(tensor, shape.get<std::vector<int64_t>>()));
  }
  for (const auto& text : golden["texts"]) {
    texts.push_back(
        {text["token_ids"].get<std::vector<int32_t>>(), text["vector"].get<std::vector<float>>()});
  }
  for (const auto& picture : golden["pictures"]) {
    pictures.push_back({Golden("pictures/" + picture["file"].get<std::string>()),
                        picture["vector"].get<std::vector<float>>()});
  }
}

void GoldenClip::AddTokenizer() {
  const nlohmann::json tokenizer =
      ReadJsonFile(Golden("tokenizers/clip.json"), 16 << 20).value()["tokenizer"];
  auto size = static_cast<int64_t>(tokenizer["model"]["vocab"].size());
  for (const auto& added : tokenizer["added_tokens"]) {
    size = std::max(size, added["id"].get<int64_t>() + 1);
    if (added["content"] == "<|endoftext|>") config["text_config"]["eos_token_id"] = added["id"];
  }
  config["text_config"]["vocab_size"] = size;
  for (StoredTensor& tensor : tensors) {
    if (tensor.name != "text_model.embeddings.token_embedding.weight") continue;
    tensor = MakeGoldenTensor(tensor.name, {size, tensor.shape[1]});
  }
  dir_.Write("tokenizer.json", tokenizer.dump());
}

std::string GoldenClip::Write() const {
  dir_.Write("config.json", config.dump());
  dir_.Write("preprocessor_config.json", processor.dump());
  SHORTLIST_CHECK(WriteSafetensors(dir_.Join("model.safetensors"), tensors).ok());
  return dir_.path();
}

}  // namespace shortlist
