#ifndef SHORTLIST_SERVE_HTTP_PUBLIC_ADDRESS_H_
#define SHORTLIST_SERVE_HTTP_PUBLIC_ADDRESS_H_

#include <boost/asio/ip/address.hpp>

namespace shortlist {

/// Whether an address is one of the internet at large: globally reachable unicast, as IANA's
/// registries of special addresses have it (RFC 6890). False for loopback, private, shared,
/// link-local, multicast and reserved ones, those of documentation and benchmarks, and those that
/// carry or translate to an IPv4 address (6to4, Teredo, NAT64), whatever it is; of a v4-mapped
/// address the IPv4 address counts.
bool IsPublicAddress(const boost::asio::ip::address& address);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_PUBLIC_ADDRESS_H_
