#ifndef SHORTLIST_SERVE_HTTP_PUBLIC_ADDRESS_H_
#define SHORTLIST_SERVE_HTTP_PUBLIC_ADDRESS_H_

#include <boost/asio/ip/address.hpp>

namespace shortlist {

/// True for addresses of the public internet: globally reachable unicast in IANA's registries of
/// special addresses (RFC 6890). False for loopback, private, shared, link-local, multicast,
/// reserved, documentation and benchmark addresses. False for all that embed or translate to an
/// IPv4 address (6to4, Teredo, NAT64). A v4-mapped address is judged by its IPv4 address.
bool IsPublicAddress(const boost::asio::ip::address& address);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_PUBLIC_ADDRESS_H_
