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

/// Routes by which clients with the admin key read and change the draft's active vocabulary while
/// requests run. The vocabulary affects the speed of generation, never its output.
///
///   GET  /vocab          ids of base and dynamic part
///   GET  /vocab/stats    VocabStats
///   GET  /vocab/escapes  a vocab list: escaped tokens with their counts
///   GET  /vocab/counts   a vocab list: emitted tokens with their counts; no text. ?successors=M
///                        adds, for each token, the M tokens that followed it most often
///   POST /vocab/base     replaces the base: {} reads the list of --vocab again; "list" is a vocab
///                        list to use instead; "top", "ratio" or "coverage" is how much of it,
///                        "successors" how many of each token. A size that is determined
///                        automatically (--vocab FILE:auto) is determined again unless one of
///                        these fields sets it
///   POST /vocab/ids      adds "ids" to the dynamic part
///
/// With ?client=NAME all routes but the counts refer to that key's own vocabulary, which POST
/// /vocab/base creates. Other query parameters are rejected. No path is taken from a request. The
/// work is done on worker threads.
class VocabAdmin {
 public:
  struct Options {
    DynamicVocabularyManager* manager = nullptr;  // must outlive this; null: there is no draft
    VocabSizer* sizer = nullptr;      // of `manager`; must outlive this; null: the size stays fixed
    ClientVocabs* clients = nullptr;  // must outlive this; null: no key has its own vocabulary
    const TokenCounts* counts = nullptr;  // must outlive this
    WorkerThreads* workers = nullptr;     // must outlive the coroutines of the routes
    VocabOptions vocab;                   // as given by --vocab
    VocabTarget target;
    // Reads the file of a list. May support formats beyond ReadVocabList's.
    std::function<absl::StatusOr<VocabList>(const std::string&, const VocabTarget&)> read_list =
        ReadVocabList;
    std::vector<TokenId> pinned;  // for the lists that are returned
    // Writes a line of the log: one word, and key=value pairs. Called on any thread; null: no log.
    std::function<void(std::string_view what, std::string_view details)> log;
  };

  explicit VocabAdmin(Options options) : options_(std::move(options)) {}

  /// Internal if a route is taken. This must outlive the coroutines of the routes.
  absl::Status AddRoutes(RouteTable& table);

 private:
  /// Returns the body of a reply for a request. On a worker thread.
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
