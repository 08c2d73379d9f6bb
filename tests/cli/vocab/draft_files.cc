#include "tests/cli/vocab/draft_files.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <random>
#include <set>

#include "base/check.h"
#include "base/file.h"
#include "cli/vocab/pins.h"
#include "io/model_source.h"
#include "io/safetensors.h"
#include "io/safetensors_writer.h"
#include "tests/support/temp_dir.h"
#include "text/tokenizer.h"
#include "vocab/formats/list_file.h"

namespace shortlist {

DraftFiles DraftFiles::Of(const std::vector<int64_t>& ids) {
  DraftFiles files;
  files.d2t = OffsetsOf(ids);
  files.t2d_ids = ids;
  files.head = RowsOf(std::ssize(ids), kDraftWidth, /*seed=*/1);
  files.config = {{"architectures", {"LlamaForCausalLMEagle3"}},
                  {"hidden_size", kDraftWidth},
                  {"vocab_size", kDemoVocab},
                  {"draft_vocab_size", ids.size()},
                  {"tie_word_embeddings", false}};
  return files;
}

std::string DraftFiles::Safetensors() const {
  SafetensorsWriter writer;
  const auto add_rows = [&writer](const std::string& name, const std::string& bytes,
                                  int64_t width) {
    if (bytes.empty()) return;
    writer.Add(name, "BF16", std::vector<int64_t>{std::ssize(bytes) / (2 * width), width}, bytes);
  };
  add_rows("fc.weight", RowsOf(kDraftWidth, 3 * kDraftWidth, /*seed=*/2), 3 * kDraftWidth);
  add_rows(layer + "self_attn.q_proj.weight", RowsOf(kDraftWidth, kDraftWidth, /*seed=*/3),
           kDraftWidth);
  writer.Add(layer + "hidden_norm.weight", "F32", std::vector<int64_t>{2}, std::string(8, '\x3f'));
  add_rows("lm_head.weight", head, kDraftWidth);
  add_rows("embed_tokens.weight", embedding, embedding_width);
  if (!d2t.empty()) {
    const std::string bytes(reinterpret_cast<const char*>(d2t.data()), 8 * d2t.size());
    writer.Add("d2t", "I64", std::vector<int64_t>{std::ssize(d2t)}, bytes);
  }
  if (t2d_ids.has_value()) {
    std::string mask(t2d_len, '\0');
    for (const int64_t id : *t2d_ids) mask[id] = 1;
    writer.Add("t2d", "BOOL", std::vector<int64_t>{t2d_len}, mask);
  }
  return writer.File();
}

void DraftFiles::WriteTo(const std::string& dir) const {
  std::filesystem::create_directories(dir);
  SHORTLIST_CHECK(WriteFileAtomically(dir + "/model.safetensors", Safetensors()).ok());
  SHORTLIST_CHECK(WriteFileAtomically(dir + "/config.json", config.dump(1)).ok());
}

std::vector<int64_t> FrequentIds(int64_t count) {
  const auto tokenizer = OpenTokenizer(ModelSource::OfDirectory(SourcePath("models/demo/target")));
  const auto list = ReadListFile(SourcePath("vocab_lists/demo.vocab.json"), {});
  SHORTLIST_CHECK(tokenizer.ok() && list.ok());
  std::vector<TokenId> order = PinnedIds(**tokenizer, kDemoVocab, Pins::kControlAndBytes);
  SHORTLIST_CHECK(std::ssize(order) < count);
  std::ranges::copy(list->PinnedFirst(), std::back_inserter(order));
  std::set<int64_t> ids;
  for (const TokenId id : order) {
    if (std::ssize(ids) < count) ids.insert(Raw(id));
  }
  return {ids.begin(), ids.end()};
}

std::vector<int64_t> OffsetsOf(const std::vector<int64_t>& ids) {
  std::vector<int64_t> offsets = ids;
  for (size_t i = 0; i < ids.size(); ++i) offsets[i] -= static_cast<int64_t>(i);
  return offsets;
}

std::string RowsOf(int64_t num_rows, int64_t width, uint32_t seed) {
  std::mt19937 random(seed);
  std::string bytes(2 * num_rows * width, '\0');
  for (size_t i = 0; i < bytes.size(); i += 2) {
    bytes[i] = static_cast<char>(random());
    bytes[i + 1] = static_cast<char>(0x3e + (random() & 1) * 0x80);  // about 0.2, either sign
  }
  return bytes;
}

std::string DemoTensor(const std::string& name) {
  const auto file = OpenSafetensors(SourcePath("models/demo/target/model.safetensors"));
  SHORTLIST_CHECK(file.ok());
  const TensorEntry& entry = file->entries().at(name);
  std::string bytes(entry.num_bytes, '\0');
  SHORTLIST_CHECK(file->Read(entry, 0, entry.num_bytes, bytes.data()).ok());
  return bytes;
}

}  // namespace shortlist
