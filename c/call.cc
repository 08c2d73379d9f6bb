#include "c/call.h"

#include <string>

#include "absl/strings/str_cat.h"

namespace shortlist {
namespace {

std::string& LastError() {
  thread_local std::string message;
  return message;
}

shortlist_status Number(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kOk:
      return SHORTLIST_OK;
    case absl::StatusCode::kInvalidArgument:
      return SHORTLIST_INVALID_ARGUMENT;
    case absl::StatusCode::kNotFound:
      return SHORTLIST_NOT_FOUND;
    case absl::StatusCode::kResourceExhausted:
      return SHORTLIST_RESOURCE_EXHAUSTED;
    case absl::StatusCode::kFailedPrecondition:
      return SHORTLIST_FAILED_PRECONDITION;
    case absl::StatusCode::kOutOfRange:
      return SHORTLIST_OUT_OF_RANGE;
    case absl::StatusCode::kUnavailable:
      return SHORTLIST_UNAVAILABLE;
    default:
      return SHORTLIST_INTERNAL;
  }
}

}  // namespace

shortlist_status Report(const absl::Status& status) {
  if (!status.ok()) {
    try {
      LastError().assign(status.message().data(), status.message().size());
    } catch (const std::bad_alloc&) {
      LastError().clear();
    }
  }
  return Number(status.code());
}

shortlist_status Call(absl::FunctionRef<absl::Status()> body) {
  try {
    return Report(body());
  } catch (const std::bad_alloc&) {
    return Report(absl::ResourceExhaustedError("out of memory"));
  } catch (const std::length_error& error) {
    return Report(absl::ResourceExhaustedError(error.what()));
  } catch (const std::exception& error) {
    return Report(absl::InternalError(error.what()));
  } catch (...) {
    return Report(absl::InternalError("an exception of no known type"));
  }
}

absl::Status CheckNotNull(const void* pointer, const char* what) {
  if (pointer != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(what, " is null"));
}

absl::Status CheckArray(const void* array, int64_t count, const char* what) {
  if (count < 0) return absl::InvalidArgumentError(absl::StrCat(what, ": count ", count, " < 0"));
  if (count == 0) return absl::OkStatus();
  return CheckNotNull(array, what);
}

}  // namespace shortlist

const char* shortlist_version() { return SHORTLIST_VERSION; }

const char* shortlist_last_error() { return shortlist::LastError().c_str(); }
