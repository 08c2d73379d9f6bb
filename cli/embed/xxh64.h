#ifndef SHORTLIST_CLI_EMBED_XXH64_H_
#define SHORTLIST_CLI_EMBED_XXH64_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shortlist {

/// XXH64 with seed 0 (https://github.com/Cyan4973/xxHash, doc/xxhash_spec.md), as `xxhsum -H64`
/// prints it: a hash of all bytes at some GB/s. It tells files apart that differ by accident or by
/// training; one that somebody has made to collide it does not.
class Xxh64 {
 public:
  void Add(std::string_view bytes);
  uint64_t Digest() const;

 private:
  static constexpr size_t kStripe = 32;

  void AddStripe(const char* stripe);

  std::array<uint64_t, 4> lanes_ = {0x60EA27EEADC0B5D6, 0xC2B2AE3D27D4EB4F, 0, 0x61C8864E7A143579};
  std::array<char, kStripe> rest_ = {};  // its first size_ % kStripe bytes
  uint64_t size_ = 0;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_EMBED_XXH64_H_
