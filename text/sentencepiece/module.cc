#include <sentencepiece_processor.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "text/sentencepiece/file.h"
#include "text/sentencepiece/model.h"

namespace shortlist {
namespace {

using PieceType = SentencePieceFile::PieceType;

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // U+2581

std::string WithSpaces(std::string_view name) {
  std::string bytes;
  while (!name.empty()) {
    const bool is_space = name.starts_with(kSpaceMark);
    bytes.push_back(is_space ? ' ' : name.front());
    name.remove_prefix(is_space ? kSpaceMark.size() : 1);
  }
  return bytes;
}

class Model final : public SentencePieceModel {
 public:
  static LoadResult Load(std::string_view serialized);
  std::optional<int32_t> FindPiece(std::string_view name) const override;
  EncodeResult Encode(std::string_view text) const override { return Encode(processor_, text); }
  EncodeResult EncodeRest(std::string_view text) const override {
    return Encode(add_dummy_prefix() ? without_prefix_ : processor_, text);
  }

 private:
  using Processor = sentencepiece::SentencePieceProcessor;

  EncodeResult Encode(const Processor& processor, std::string_view text) const;

  Processor processor_;
  Processor without_prefix_;  // loaded if the model adds a dummy prefix
};

/// Returns a description of the problem; empty on success.
std::string LoadProcessor(std::string_view serialized,
                          sentencepiece::SentencePieceProcessor& processor) {
  try {
    const auto status = processor.LoadFromSerializedProto(serialized);
    if (!status.ok()) return std::string("not a SentencePiece model: ") + status.message();
  } catch (const std::exception& error) {
    return std::string("not a SentencePiece model: ") + error.what();
  }
  return "";
}

SentencePieceModel::LoadResult Model::Load(std::string_view serialized) {
  auto parsed = SentencePieceFile::Parse(serialized);
  if (std::string* problem = std::get_if<std::string>(&parsed)) return std::move(*problem);
  const SentencePieceFile& file = std::get<SentencePieceFile>(parsed);

  auto model = std::make_unique<Model>();
  std::string problem = LoadProcessor(serialized, model->processor_);
  if (problem.empty() && file.add_dummy_prefix) {
    problem = LoadProcessor(WithoutDummyPrefix(serialized), model->without_prefix_);
  }
  if (!problem.empty()) return problem;

  const auto& processor = model->processor_;
  if (processor.GetPieceSize() != static_cast<int>(file.pieces.size())) {
    return "libsentencepiece reads " + std::to_string(processor.GetPieceSize()) + " pieces, not " +
           std::to_string(file.pieces.size());
  }
  const bool is_plain_bpe = file.IsPlainBpe();
  for (const SentencePieceFile::Piece& from : file.pieces) {
    if (is_plain_bpe && from.type == PieceType::kNormal) {
      model->bpe_pieces_.push_back({model->size(), from.score});
    }
    if (is_plain_bpe && from.type == PieceType::kUserDefined) {
      model->bpe_user_pieces_.push_back(model->size());
    }
    Piece piece;
    piece.name = from.name;
    if (from.type == PieceType::kControl) {
      piece.is_control = true;
    } else if (from.type == PieceType::kUnknown) {
      piece.bytes = file.unk_surface;
    } else if (from.type == PieceType::kByte) {
      piece.bytes = static_cast<char>(ParseBytePiece(from.name));
    } else {
      piece.bytes = WithSpaces(from.name);
      piece.begins_with_space_mark = from.name.starts_with(kSpaceMark);
    }
    model->pieces_.push_back(std::move(piece));
  }
  if (const int bos = processor.bos_id(); bos >= 0) model->bos_ = bos;
  if (const int eos = processor.eos_id(); eos >= 0) model->eos_ = eos;
  model->has_byte_pieces_ = file.byte_fallback;
  model->add_dummy_prefix_ = file.add_dummy_prefix;
  model->remove_extra_whitespaces_ = file.remove_extra_whitespaces;
  if (file.byte_fallback && file.charsmap.empty() && !file.remove_extra_whitespaces) {
    size_t longest = 1;
    for (const Piece& piece : model->pieces_) longest = std::max(longest, piece.name.size());
    model->max_token_bytes_ = static_cast<int64_t>(longest);
  }
  return model;
}

std::optional<int32_t> Model::FindPiece(std::string_view name) const {
  const int id = processor_.PieceToId(name);
  if (id < 0 || id >= size() || pieces_[id].name != name) return std::nullopt;
  return id;
}

SentencePieceModel::EncodeResult Model::Encode(const Processor& processor,
                                               std::string_view text) const {
  if (!has_byte_pieces_ && text.size() > kMaxTextBytesWithoutBytes) {
    return std::to_string(text.size()) + " bytes, more than " +
           std::to_string(kMaxTextBytesWithoutBytes) + " for a model without byte_fallback";
  }
  std::vector<int32_t> ids;
  try {
    const auto status = processor.Encode(text, &ids);
    if (!status.ok()) return std::string(status.message());
  } catch (const std::exception& error) {
    return std::string(error.what());
  }
  return ids;
}

}  // namespace
}  // namespace shortlist

/// The entry point that text/sentencepiece/model.cc looks up in this module.
extern "C" __attribute__((visibility("default"))) shortlist::SentencePieceModel::LoadResult
ShortlistLoadSentencePiece(std::string_view serialized) {
  return shortlist::Model::Load(serialized);
}
