#ifndef SHORTLIST_RUNTIME_SKETCH_FILE_H_
#define SHORTLIST_RUNTIME_SKETCH_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sketch/sketch_basis.h"

namespace shortlist {

// A sketch's basis in a safetensors file: F32 "rows" and "states" [rank, hidden], "probes"
// [num_probes, rank]; I64 "probe_ids" [num_probes], "checksum" [1] of all values and, if known,
// "num_states" [1] (sketch/sketch_basis.h). A file without a checksum is accepted. The codes are
// not stored: they are made from the head at load, so that one file serves the head in every type.

/// Returns NotFound if there is no such file; InvalidArgument with the file, the tensor, the value
/// and the bound, also for a number that is not finite.
absl::StatusOr<SketchBasis> ReadSketchFile(const std::string& path);

/// Replaces the file atomically. Returns Unavailable with the path and the reason.
absl::Status WriteSketchFile(const SketchBasis& basis, const std::string& path);

// The moments of the states that a head has met, in a safetensors file: F32 "mean" [hidden,
// hidden], I64 "num_states" [1], at least 1, and "checksum" [1].

/// `hidden`: width of the head. Errors as for ReadSketchFile.
absl::StatusOr<StateMoments> ReadMomentsFile(const std::string& path, int64_t hidden);

/// `moments` must have at least one state. Same as WriteSketchFile() otherwise.
absl::Status WriteMomentsFile(const StateMoments& moments, const std::string& path);

/// Path at which the sketch of the draft in `draft_dir` is kept between runs: in
/// $XDG_CACHE_HOME/shortlist or ~/.cache/shortlist. The file name has the draft's name, the number
/// of rows and a hash of the draft's path, as names are not unique. Empty if the user has no home
/// or `draft_dir` cannot be resolved.
std::string CachedSketchPath(const std::string& draft_dir, int64_t num_rows);

}  // namespace shortlist

#endif  // SHORTLIST_RUNTIME_SKETCH_FILE_H_
