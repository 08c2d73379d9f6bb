#include "serve/http/public_address.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace shortlist {
namespace {

struct Block {
  uint32_t first;  // of IPv6: the upper 32 bits
  int num_bits;
};

constexpr Block kNotPublicV4[] = {
    {0x00000000, 8},   // this network
    {0x0a000000, 8},   // private
    {0x64400000, 10},  // shared, used by providers' NAT
    {0x7f000000, 8},   // loopback
    {0xa9fe0000, 16},  // link-local; clouds serve machines' secrets here
    {0xac100000, 12},  // private
    {0xc0000000, 24},  // protocol assignments
    {0xc0000200, 24},  // documentation
    {0xc0586300, 24},  // relays of 6to4
    {0xc0a80000, 16},  // private
    {0xc6120000, 15},  // benchmarks
    {0xc6336400, 24},  // documentation
    {0xcb007100, 24},  // documentation
    {0xe0000000, 3},   // multicast, reserved, broadcast
};
constexpr Block kGlobalUnicastV6 = {0x20000000, 3};
constexpr Block kNotPublicV6[] = {
    {0x20010000, 23},  // protocol assignments, including Teredo
    {0x20010db8, 32},  // documentation
    {0x20020000, 16},  // 6to4
    {0x3fff0000, 20},  // documentation
};

bool IsIn(uint32_t number, const Block& block) {
  return (number ^ block.first) >> (32 - block.num_bits) == 0;
}

}  // namespace

bool IsPublicAddress(const boost::asio::ip::address& address) {
  namespace ip = boost::asio::ip;
  if (address.is_v6() && !address.to_v6().is_v4_mapped()) {
    const ip::address_v6::bytes_type bytes = address.to_v6().to_bytes();
    uint32_t upper = 0;
    for (size_t i = 0; i < 4; ++i) upper = upper << 8 | bytes[i];
    return IsIn(upper, kGlobalUnicastV6) &&
           std::ranges::none_of(kNotPublicV6, [&](const Block& b) { return IsIn(upper, b); });
  }
  const uint32_t number = address.is_v4()
                              ? address.to_v4().to_uint()
                              : ip::make_address_v4(ip::v4_mapped, address.to_v6()).to_uint();
  return std::ranges::none_of(kNotPublicV4, [&](const Block& b) { return IsIn(number, b); });
}

}  // namespace shortlist
