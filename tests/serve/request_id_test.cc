#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "serve/http/target.h"

namespace shortlist {
namespace {

/// Inverts y ^= (y >> shift) & mask, or << for a negative shift, a few bits more in each round.
uint64_t Unmix(uint64_t mixed, int shift, uint64_t mask) {
  uint64_t value = mixed;
  for (int i = 0; i < 64; ++i) {
    value = mixed ^ ((shift > 0 ? value >> shift : value << -shift) & mask);
  }
  return value;
}

/// The word of mt19937_64's state that this output was made of.
uint64_t StateWord(uint64_t output) {
  output = Unmix(output, 43, ~uint64_t{0});
  output = Unmix(output, -37, 0xfff7eee000000000u);
  output = Unmix(output, -17, 0x71d67fffeda60000u);
  return Unmix(output, 29, 0x5555555555555555u);
}

/// Returns the output of mt19937_64 that follows these outputs.
uint64_t Next(const std::array<uint64_t, 312>& outputs) {
  const uint64_t upper = StateWord(outputs[0]) & 0xffffffff80000000u;
  const uint64_t lower = StateWord(outputs[1]) & 0x7fffffffu;
  uint64_t y = StateWord(outputs[156]) ^ ((upper | lower) >> 1);
  if (lower & 1) y ^= 0xb5026f5aa96619e9u;
  y ^= (y >> 29) & 0x5555555555555555u;
  y ^= (y << 17) & 0x71d67fffeda60000u;
  y ^= (y << 37) & 0xfff7eee000000000u;
  return y ^ (y >> 43);
}

TEST(RequestIdTest, NextIdIsUnpredictable) {
  std::mt19937_64 known(7);
  std::array<uint64_t, 312> outputs;
  for (uint64_t& output : outputs) output = known();
  ASSERT_EQ(Next(outputs), known());  // the attack works where it can

  for (size_t i = 0; i < outputs.size(); i += 2) {
    const std::string id = NewRequestId();
    outputs[i] = std::strtoull(id.substr(0, 16).c_str(), nullptr, 16);
    outputs[i + 1] = std::strtoull(id.substr(16).c_str(), nullptr, 16);
  }
  EXPECT_NE(Next(outputs), std::strtoull(NewRequestId().substr(0, 16).c_str(), nullptr, 16));
}

TEST(RequestIdTest, IdsAreHexadecimalAndDifferAcrossThreads) {
  std::array<std::vector<std::string>, 4> made;
  std::vector<std::thread> threads;
  for (std::vector<std::string>& ids : made) {
    threads.emplace_back([&ids] {
      for (int i = 0; i < 1000; ++i) ids.push_back(NewRequestId());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::string> all;
  for (const std::vector<std::string>& ids : made) {
    for (const std::string& id : ids) {
      EXPECT_EQ(id.size(), 32u);
      EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
      all.insert(id);
    }
  }
  EXPECT_EQ(all.size(), 4000u);
}

}  // namespace
}  // namespace shortlist
