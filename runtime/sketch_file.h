#ifndef SHORTLIST_RUNTIME_SKETCH_FILE_H_
#define SHORTLIST_RUNTIME_SKETCH_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "head/sketch_basis.h"

namespace shortlist {

// The basis of a sketch in a file: safetensors with F32 "rows" and "states" [rank, hidden],
// "probes" [num_probes, rank], I64 "probe_ids" [num_probes], "checksum" [1] of all that and, if it
// is known, "num_states" [1] (head/sketch_basis.h). A file without a checksum is taken. The codes
// are not in it: they are made from the head itself at load, so that one file serves the head in
// every type.

/// NotFound when there is no such file; InvalidArgument names the file, the tensor, the value and
/// the bound, a number that is not finite included.
absl::StatusOr<SketchBasis> ReadSketchFile(const std::string& path);

/// Replaces the file at once or not at all. Unavailable names the path and the reason.
absl::Status WriteSketchFile(const SketchBasis& basis, const std::string& path);

// The moments of the states that a head has met, likewise: F32 "mean" [hidden, hidden], and I64
// "num_states" [1], at least 1, and "checksum" [1].

/// Of a head of this width. Errors of ReadSketchFile.
absl::StatusOr<StateMoments> ReadMomentsFile(const std::string& path, int64_t hidden);

/// There is at least one state. As WriteSketchFile.
absl::Status WriteMomentsFile(const StateMoments& moments, const std::string& path);

/// Where the sketch of the draft in `draft_dir` is kept between runs: in $XDG_CACHE_HOME/shortlist
/// or ~/.cache/shortlist, under the draft's name and, as names are not unique, what tells its path
/// and the number of rows from others. Empty: this user has no home.
std::string CachedSketchPath(const std::string& draft_dir, int64_t num_rows);

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_SKETCH_FILE_H_
