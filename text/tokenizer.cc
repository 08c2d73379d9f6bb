#include "text/tokenizer.h"

#include "absl/strings/str_format.h"
#include "text/utf8.h"

namespace shortlist {
namespace {

class Fnv1a64 {
 public:
  void Add(std::string_view bytes) {
    for (const char byte : bytes) {
      hash_ = (hash_ ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
    }
  }
  void AddLength(uint32_t length) {
    for (int shift = 0; shift < 32; shift += 8) {
      hash_ = (hash_ ^ (length >> shift & 0xFF)) * 0x100000001b3;
    }
  }
  uint64_t hash() const { return hash_; }

 private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace

std::string_view Tokenizer::NextBytes(TokenId id, bool& at_start) const {
  std::string_view bytes = TokenBytes(id);
  if (at_start && adds_leading_space() && bytes.starts_with(' ')) bytes.remove_prefix(1);
  at_start = at_start && IsSpecial(id);
  return bytes;
}

std::string Tokenizer::Decode(std::span<const TokenId> ids) const {
  std::string bytes;
  bool at_start = true;
  for (const TokenId id : ids) bytes.append(NextBytes(id, at_start));
  std::string text;
  text.reserve(bytes.size());
  if (AppendUtf8(bytes, text) > 0) text.append(kReplacementCharacter);
  return text;
}

std::string Tokenizer::Fingerprint() const {
  Fnv1a64 hash;
  for (int32_t i = 0; i < size(); ++i) {
    const TokenId id{i};
    const std::string_view bytes = IsSpecial(id) ? ControlPiece(id) : TokenBytes(id);
    hash.AddLength(static_cast<uint32_t>(bytes.size()));
    hash.Add(bytes);
  }
  return absl::StrFormat("fnv1a64:%016x", hash.hash());
}

}  // namespace shortlist
