#include "tests/text/sentencepiece/oracle.h"

#include <sentencepiece_processor.h>

#include <cstdio>

namespace shortlist {

SentencePieceOracle::SentencePieceOracle(const std::string& model_path)
    : processor_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  processor_->LoadOrDie(model_path);
}
SentencePieceOracle::~SentencePieceOracle() = default;

std::vector<int> SentencePieceOracle::Encode(const std::string& text) const {
  return processor_->EncodeAsIds(text);
}

std::string SentencePieceOracle::Decode(const std::vector<int>& ids) const {
  return processor_->DecodeIds(ids);
}

int SentencePieceOracle::size() const { return processor_->GetPieceSize(); }

int SentencePieceOracle::ByteId(int byte) const {
  char name[8];
  std::snprintf(name, sizeof(name), "<0x%02X>", byte);
  const int id = processor_->PieceToId(name);
  return processor_->IsByte(id) ? id : -1;
}

bool SentencePieceOracle::IsByte(int id) const { return processor_->IsByte(id); }

}  // namespace shortlist
