#ifndef SHORTLIST_BENCH_LOAD_LOAD_FLAGS_H_
#define SHORTLIST_BENCH_LOAD_LOAD_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "bench/load/embeddings_api.h"
#include "bench/load/http_client.h"

namespace CLI {
class App;
}

namespace shortlist {

/// Flags shared by load clients.
struct LoadFlags {
  HttpClient::Options http;       // set by ReadLoadFlags
  EmbeddingsOptions embeddings;   // set by ReadLoadFlags
  std::string base_url, api_key;  // as given
  std::string encoding_format, ids = "off";
  int64_t timeout_s = 600;
  uint64_t seed = 1;
  bool json = false;
};

/// Adds the flags to `app`; parsing fills `flags`, which must outlive it. `encoding_format`: the
/// default.
void AddLoadFlags(CLI::App& app, LoadFlags& flags, const std::string& encoding_format);

/// Converts the parsed flags to options. InvalidArgument names the flag.
absl::Status ReadLoadFlags(LoadFlags& flags);

/// Parses the command line. Returns -1 to continue, else the exit status: 0 after --help, 2 after
/// an error, which is written to stderr.
int ParseLoadFlags(CLI::App& app, LoadFlags& flags, int argc, char** argv);

}  // namespace shortlist

#endif  // SHORTLIST_BENCH_LOAD_LOAD_FLAGS_H_
