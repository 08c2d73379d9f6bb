#ifndef SHORTLIST_SERVE_ADMIN_VOCAB_ADMIN_H_
#define SHORTLIST_SERVE_ADMIN_VOCAB_ADMIN_H_

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "serve/admin/token_counts.h"
#include "serve/http/route_table.h"
#include "serve/http/worker_threads.h"
#include "vocab/dynamic_vocabulary_manager.h"
#include "vocab/vocab_list.h"
#include "vocab/vocab_options.h"

namespace shortlist {

/// The routes by which whoever has the admin key sees and changes the active vocabulary of the
/// draft, while requests run. What clients get never depends on it, only how fast.
///
///   GET  /vocab          ids of base and dynamic part
///   GET  /vocab/stats    VocabStats
///   GET  /vocab/escapes  a vocab list: what escaped, with how often
///   GET  /vocab/counts   a vocab list: what was emitted, with how often; no text, no order
///   POST /vocab/base     replaces the base: {} reads the list of --vocab again; "list" is a vocab
///                        list to take instead; "top", "ratio" or "coverage" how much of it,
///                        "successors" how many of a token's
///   POST /vocab/ids      adds "ids" to the dynamic part
///
/// No path comes from a request. The work is done on worker threads.
class VocabAdmin {
 public:
  struct Options {
    DynamicVocabularyManager* manager = nullptr;  // must outlive this; null: there is no draft
    const TokenCounts* counts = nullptr;          // must outlive this
    WorkerThreads* workers = nullptr;             // must outlive the coroutines of the routes
    VocabOptions vocab;                           // as --vocab says
    VocabTarget target;
    std::vector<TokenId> pinned;  // of the lists that are told
  };

  explicit VocabAdmin(Options options) : options_(std::move(options)) {}

  /// Internal when a route is taken. This must outlive the coroutines of the routes.
  absl::Status AddRoutes(RouteTable& table);

 private:
  /// Makes the body of a reply from that of a request. On a worker thread.
  using Work = absl::StatusOr<std::string> (VocabAdmin::*)(const std::string& body) const;

  Handler RunOnWorker(Work work, std::string file_name);
  absl::StatusOr<DynamicVocabularyManager*> Manager() const;
  absl::StatusOr<std::string> Ids(const std::string& body) const;
  absl::StatusOr<std::string> Stats(const std::string& body) const;
  absl::StatusOr<std::string> Escapes(const std::string& body) const;
  absl::StatusOr<std::string> Counts(const std::string& body) const;
  absl::StatusOr<std::string> ReplaceBase(const std::string& body) const;
  absl::StatusOr<std::string> AddIds(const std::string& body) const;
  absl::StatusOr<std::string> List(const std::vector<std::pair<TokenId, int64_t>>& ranked,
                                   const char* source) const;

  const Options options_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_ADMIN_VOCAB_ADMIN_H_
