#ifndef SHORTLIST_SERVE_HTTP_UNKNOWN_FIELDS_H_
#define SHORTLIST_SERVE_HTTP_UNKNOWN_FIELDS_H_

#include <string>
#include <string_view>

#include "serve/http/api_error.h"
#include "serve/http/message.h"
#include "serve/http/worker_threads.h"

namespace shortlist {

/// Header of a reply that names ignored fields of the request. It may occur several times; each
/// names one or more fields, separated by commas.
inline constexpr std::string_view kIgnoredFields = "X-Ignored-Fields";

/// Returns the name for a header or the log: at most 64 letters, digits and "_.[]-"; all other
/// bytes become "?".
std::string HeaderName(const UnknownField& field);

/// Names the ignored field, given by its HeaderName, to the client and in the log.
void NoteIgnored(std::string_view name, HttpResponse& response);

/// Returns `body`, a JSON object, without `field`. If the path leads through a list without an
/// index, removes the field from each element. The rest keeps its order.
std::string WithoutField(const std::string& body, const UnknownField& field);

/// Returns `handler` for requests whose unknown fields are ignored. A field that `handler` rejects
/// as unknown (UnknownFieldOf) is removed from the body, and `handler` is called again. A path,
/// without the indices of lists ("messages[].weight"), is named once, by its first field, in
/// kIgnoredFields and in the record. The 17th path is rejected. A further field of a known path is
/// rejected if reading the body again would exceed 8 MiB in total, a new path at 32 MiB. `workers`
/// must outlive the result.
Handler IgnoreUnknownFields(Handler handler, WorkerThreads& workers);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_UNKNOWN_FIELDS_H_
