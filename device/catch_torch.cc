#include "device/catch_torch.h"

#include <c10/util/Exception.h>

#include <exception>
#include <new>

#include "absl/strings/str_cat.h"

namespace shortlist {

absl::Status CatchTorch(absl::string_view what, absl::FunctionRef<absl::Status()> body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(what, ": out of memory"));
  } catch (const c10::OutOfMemoryError&) {
    return absl::ResourceExhaustedError(absl::StrCat(what, ": out of the device's memory"));
  } catch (const c10::Error& error) {
    return absl::InternalError(absl::StrCat(what, ": ", error.what_without_backtrace()));
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(what, ": ", error.what()));
  }
}

}  // namespace shortlist
