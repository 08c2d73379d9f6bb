#ifndef SHORTLIST_SERVE_ADMIN_VOCAB_ADMIN_H_
#define SHORTLIST_SERVE_ADMIN_VOCAB_ADMIN_H_

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "serve/admin/client_vocabs.h"
#include "serve/admin/token_counts.h"
#include "serve/http/route_table.h"
#include "serve/http/worker_threads.h"
#include "vocab/dynamic_vocabulary_manager.h"
#include "vocab/vocab_list.h"
#include "vocab/vocab_options.h"
#include "vocab/vocab_sizer.h"

namespace shortlist {

/// The routes by which whoever has the admin key sees and changes the active vocabulary of the
/// draft, while requests run. What clients get never depends on it, only how fast.
///
///   GET  /vocab          ids of base and dynamic part
///   GET  /vocab/stats    VocabStats
///   GET  /vocab/escapes  a vocab list: what escaped, with how often
///   GET  /vocab/counts   a vocab list: what was emitted, with how often; no text. With
///                        ?successors=M also, for each token, the M that followed it most often
///   POST /vocab/base     replaces the base: {} reads the list of --vocab again; "list" is a vocab
///                        list to take instead; "top", "ratio" or "coverage" how much of it,
///                        "successors" how many of a token's. A size that is found by itself
///                        (--vocab FILE:auto) is found anew unless one of these chooses it
///   POST /vocab/ids      adds "ids" to the dynamic part
///
/// With ?client=NAME all but the counts speak of the vocabulary of that key alone, which POST
/// /vocab/base gives it. A query with anything else is refused. No path comes from a request. The
/// work is done on worker threads.
class VocabAdmin {
 public:
  struct Options {
    DynamicVocabularyManager* manager = nullptr;  // must outlive this; null: there is no draft
    VocabSizer* sizer = nullptr;                  // of it, likewise; null: its size stays
    ClientVocabs* clients = nullptr;              // likewise; null: no key has one of its own
    const TokenCounts* counts = nullptr;          // must outlive this
    WorkerThreads* workers = nullptr;             // must outlive the coroutines of the routes
    VocabOptions vocab;                           // as --vocab says
    VocabTarget target;
    // Reads the file of a list; of formats beside ReadVocabList's where the server knows them.
    std::function<absl::StatusOr<VocabList>(const std::string&, const VocabTarget&)> read_list =
        ReadVocabList;
    std::vector<TokenId> pinned;  // of the lists that are told
    // Takes a line of the log: one word, and key=value pairs. From any thread; null: there is none.
    std::function<void(std::string_view what, std::string_view details)> log;
  };

  explicit VocabAdmin(Options options) : options_(std::move(options)) {}

  /// Internal when a route is taken. This must outlive the coroutines of the routes.
  absl::Status AddRoutes(RouteTable& table);

 private:
  /// Makes the body of a reply from that of a request. On a worker thread.
  using Work = absl::StatusOr<std::string> (VocabAdmin::*)(const HttpRequest& http) const;

  Handler RunOnWorker(Work work, std::string parameter, std::string file_name);
  absl::StatusOr<DynamicVocabularyManager*> Manager(const HttpRequest& http) const;
  absl::StatusOr<std::string> Ids(const HttpRequest& http) const;
  absl::StatusOr<std::string> Stats(const HttpRequest& http) const;
  absl::StatusOr<std::string> Escapes(const HttpRequest& http) const;
  absl::StatusOr<std::string> Counts(const HttpRequest& http) const;
  absl::StatusOr<std::string> ReplaceBase(const HttpRequest& http) const;
  absl::StatusOr<std::string> AddIds(const HttpRequest& http) const;
  absl::Status SetBase(const HttpRequest& http, const VocabOptions& vocab,
                       std::optional<VocabList> list) const;
  absl::Status LogBase(const HttpRequest& http, const std::string& file) const;
  absl::StatusOr<std::string> List(const std::vector<std::pair<TokenId, int64_t>>& ranked,
                                   const char* source,
                                   std::vector<std::vector<TokenId>> successors = {}) const;

  const Options options_;
};

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_ADMIN_VOCAB_ADMIN_H_
