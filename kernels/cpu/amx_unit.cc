#include "kernels/cpu/amx_unit.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

#include "kernels/cpu/amx_tiles.inc"

namespace shortlist {
namespace {

bool IsNamed() {
  constexpr uint32_t kBf16 = 1u << 22, kTile = 1u << 24, kInt8 = 1u << 25;
  constexpr uint32_t kAll = kBf16 | kTile | kInt8;
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & kAll) == kAll;
}

/// Linux grants the unit's large state only to processes that request it.
bool IsGranted() {
  constexpr int64_t kRequestPermission = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

/// True if a configuration reads back and small products are correct. Does not query the tile sizes
/// in CPUID: on some virtual machines CPUID ends before that leaf.
bool Works() {
  alignas(64) uint16_t ones[kMaxTileRows][kMaxTileBytes / 2];
  alignas(64) int8_t bytes[kMaxTileRows][kMaxTileBytes];
  alignas(64) float sums[kMaxTileRows][kMaxTileBytes / 4];
  alignas(64) int32_t counts[kMaxTileRows][kMaxTileBytes / 4];
  for (auto& row : ones) {
    for (uint16_t& one : row) one = 0x3f80;  // 1.0
  }
  for (auto& row : bytes) {
    for (int8_t& one : row) one = 1;
  }
  {
    AmxTiles tiles{TileShapes{}};
    alignas(64) uint8_t configuration[64] = {};
    asm volatile("sttilecfg %0" : "=m"(configuration));
    for (int t = 0; t < kNumTiles; ++t) {
      if (configuration[16 + 2 * t] != kMaxTileBytes || configuration[48 + t] != kMaxTileRows) {
        return false;
      }
    }
    tiles.Load<4>(ones, kMaxTileBytes);
    tiles.Load<5>(ones, kMaxTileBytes);
    tiles.Load<6>(bytes, kMaxTileBytes);
    tiles.Load<7>(bytes, kMaxTileBytes);
    tiles.MulAddBf16<0, 4, 5>();
    tiles.MulAddBytes<1, 6, 7>();
    tiles.Store<0>(sums, kMaxTileBytes);
    tiles.Store<1>(counts, kMaxTileBytes);
  }
  for (int64_t r = 0; r < kMaxTileRows; ++r) {
    for (int64_t n = 0; n < kMaxTileBytes / 4; ++n) {
      constexpr float kSum = kMaxTileBytes * 0.5f;
      if (sums[r][n] != kSum || counts[r][n] != kMaxTileBytes) return false;
    }
  }
  return true;
}

}  // namespace

bool HasAmxUnit() {
  static const bool has = IsNamed() && IsGranted() && Works();
  return has;
}

}  // namespace shortlist
