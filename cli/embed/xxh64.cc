#include "cli/embed/xxh64.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace shortlist {
namespace {

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F,
                   kPrime3 = 0x165667B19E3779F9, kPrime4 = 0x85EBCA77C2B2AE63,
                   kPrime5 = 0x27D4EB2F165667C5;

static_assert(std::endian::native == std::endian::little);

template <typename T>
uint64_t Load(const char* at) {
  T value = 0;
  std::memcpy(&value, at, sizeof value);
  return value;
}

uint64_t Round(uint64_t lane, uint64_t word) {
  return std::rotl(lane + word * kPrime2, 31) * kPrime1;
}

}  // namespace

void Xxh64::AddStripe(const char* stripe) {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    lanes_[i] = Round(lanes_[i], Load<uint64_t>(stripe + 8 * i));
  }
}

void Xxh64::Add(std::string_view bytes) {
  const size_t filled = size_ % kStripe;
  size_ += bytes.size();
  if (filled > 0) {
    const size_t taken = std::min(kStripe - filled, bytes.size());
    std::copy_n(bytes.data(), taken, rest_.data() + filled);
    bytes.remove_prefix(taken);
    if (filled + taken < kStripe) return;
    AddStripe(rest_.data());
  }
  for (; bytes.size() >= kStripe; bytes.remove_prefix(kStripe)) AddStripe(bytes.data());
  std::copy_n(bytes.data(), bytes.size(), rest_.data());
}

uint64_t Xxh64::Digest() const {
  uint64_t hash = kPrime5;
  if (size_ >= kStripe) {
    hash = std::rotl(lanes_[0], 1) + std::rotl(lanes_[1], 7) + std::rotl(lanes_[2], 12) +
           std::rotl(lanes_[3], 18);
    for (const uint64_t lane : lanes_) hash = (hash ^ Round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += size_;
  std::string_view rest(rest_.data(), size_ % kStripe);
  for (; rest.size() >= 8; rest.remove_prefix(8)) {
    hash = std::rotl(hash ^ Round(0, Load<uint64_t>(rest.data())), 27) * kPrime1 + kPrime4;
  }
  if (rest.size() >= 4) {
    hash = std::rotl(hash ^ (Load<uint32_t>(rest.data()) * kPrime1), 23) * kPrime2 + kPrime3;
    rest.remove_prefix(4);
  }
  for (const char byte : rest) {
    hash = std::rotl(hash ^ (static_cast<uint8_t>(byte) * kPrime5), 11) * kPrime1;
  }
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

absl::StatusOr<std::string> Xxh64Of(const RawFile& file) {
  constexpr int64_t kBlockBytes = int64_t{1} << 20;
  Xxh64 hash;
  std::string block(std::min(kBlockBytes, file.size()), '\0');
  for (int64_t done = 0; done < file.size();) {
    const int64_t count = std::min(kBlockBytes, file.size() - done);
    if (const absl::Status read = file.Read(done, count, block.data()); !read.ok()) {
      return absl::Status(read.code(), absl::StrCat(file.path(), ": ", read.message()));
    }
    hash.Add(std::string_view(block).substr(0, count));
    done += count;
  }
  return absl::StrFormat("xxh64:%016x", hash.Digest());
}

}  // namespace shortlist
