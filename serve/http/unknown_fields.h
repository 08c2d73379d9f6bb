#ifndef SHORTLIST_SERVE_HTTP_UNKNOWN_FIELDS_H_
#define SHORTLIST_SERVE_HTTP_UNKNOWN_FIELDS_H_

#include <string>
#include <string_view>

#include "serve/http/api_error.h"
#include "serve/http/message.h"
#include "serve/http/worker_threads.h"

namespace shortlist {

/// Header of a reply to a request some of whose fields were passed over. It may come several times;
/// each names one or more, with commas.
inline constexpr std::string_view kIgnoredFields = "X-Ignored-Fields";

/// The name as a header or the log may hold it: at most 64 letters, digits and "_.[]-"; all other
/// bytes become "?".
std::string HeaderName(const UnknownField& field);

/// Tells the client and the log that the field of this HeaderName is passed over.
void NoteIgnored(std::string_view name, HttpResponse& response);

/// `body`, a JSON object, without `field`; where the way there leads through lists, without that
/// of each of their elements. The rest keeps its order.
std::string WithoutField(const std::string& body, const UnknownField& field);

/// `handler` for requests whose unknown fields are passed over: a field that it refuses as unknown
/// (UnknownFieldOf) is taken out of the body, and the handler is called again. A path, whatever the
/// index in each list ("messages[].weight"), is named once in kIgnoredFields and in the record, as
/// its first field. The 17th path is refused; so is a further field of a path where the body would
/// be read so often that it comes to 8 MiB. `workers` must outlive it.
Handler IgnoreUnknownFields(Handler handler, WorkerThreads& workers);

}  // namespace shortlist

#endif  // SHORTLIST_SERVE_HTTP_UNKNOWN_FIELDS_H_
