#ifndef SHORTLIST_BASE_STATUS_MACROS_H_
#define SHORTLIST_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

/// Returns from the enclosing function when `expr`, an absl::Status, is not ok.
#define SHORTLIST_RETURN_IF_ERROR(expr)      \
  do {                                       \
    absl::Status shortlist_status = (expr);  \
    if (!shortlist_status.ok()) [[unlikely]] \
      return shortlist_status;               \
  } while (false)

/// Assigns the value of `expr`, an absl::StatusOr, to `lhs` (which may declare a variable), or
/// returns its status. Example: SHORTLIST_ASSIGN_OR_RETURN(const VocabList list,
/// ReadVocabList(path));
#define SHORTLIST_ASSIGN_OR_RETURN(lhs, expr) \
  SHORTLIST_ASSIGN_OR_RETURN_IMPL_(SHORTLIST_CONCAT_(shortlist_status_or_, __LINE__), lhs, expr)

#define SHORTLIST_CONCAT_INNER_(a, b) a##b
#define SHORTLIST_CONCAT_(a, b) SHORTLIST_CONCAT_INNER_(a, b)
#define SHORTLIST_ASSIGN_OR_RETURN_IMPL_(holder, lhs, expr) \
  auto holder = (expr);                                     \
  if (!holder.ok()) [[unlikely]]                            \
    return std::move(holder).status();                      \
  lhs = std::move(holder).value()

#endif  // SHORTLIST_BASE_STATUS_MACROS_H_
