#include "base/catch_bad_alloc.h"

#include <exception>
#include <new>

#include "absl/strings/str_cat.h"

namespace shortlist {

absl::Status CatchBadAlloc(absl::string_view what, absl::FunctionRef<absl::Status()> body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(what, ": out of memory"));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(what, ": ", error.what()));
  }
}

}  // namespace shortlist
