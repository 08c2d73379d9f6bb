#ifndef SHORTLIST_CLI_VERSION_H_
#define SHORTLIST_CLI_VERSION_H_

namespace shortlist {

inline constexpr char kVersion[] = "0.1.0";

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VERSION_H_
