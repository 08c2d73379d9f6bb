#ifndef SHORTLIST_CLI_EMBED_XXH64_H_
#define SHORTLIST_CLI_EMBED_XXH64_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "io/raw_file.h"

namespace shortlist {

/// XXH64 with seed 0 (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md), as printed by
/// `xxhsum -H64`: a hash of all bytes at several GB/s. It detects accidental differences and
/// retrained weights, not deliberate collisions.
class Xxh64 {
 public:
  void Add(std::string_view bytes);
  uint64_t Digest() const;

 private:
  static constexpr size_t kStripe = 32;

  void AddStripe(const char* stripe);

  std::array<uint64_t, 4> lanes_ = {0x60EA27EEADC0B5D6, 0xC2B2AE3D27D4EB4F, 0, 0x61C8864E7A143579};
  std::array<char, kStripe> rest_ = {};  // the first size_ % kStripe bytes are used
  uint64_t size_ = 0;
};

/// Hashes a whole file: "xxh64:44bc2cf5ad770999". Errors as RawFile::Read, with the file's name.
absl::StatusOr<std::string> Xxh64Of(const RawFile& file);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_XXH64_H_
