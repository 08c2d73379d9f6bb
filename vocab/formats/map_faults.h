#ifndef SHORTLIST_VOCAB_FORMATS_MAP_FAULTS_H_
#define SHORTLIST_VOCAB_FORMATS_MAP_FAULTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace shortlist {

/// Something that is wrong with a draft's checkpoint or list.
struct MapFault {
  std::string code;     // for programs: "d2t-absolute"
  std::string message;  // for people: what is wrong, with values and bounds, and what to do
};

/// The tensors d2t and t2d as stored.
struct StoredMap {
  std::vector<int64_t> d2t;  // [num_rows]
  std::optional<std::vector<int64_t>> t2d;
  // True for GGUF, whose d2t holds the target's ids; false for EAGLE-3, where it holds offsets: the
  // id of row i is i + d2t[i].
  bool is_absolute = false;
};

/// What a map means, as far as its values show it.
struct MapDiagnosis {
  bool is_absolute = false;  // d2t holds ids
  std::vector<int64_t> ids;  // [num_rows] the target's id of each row; some may be out of range
  std::vector<MapFault> faults;
};

/// Finds everything that is wrong with a map for a target of `vocab_size` ids (0: unknown), where
/// ReadDraftMap stops at the first fault. Codes: "d2t-empty", "d2t-zero" and "d2t-arange" (what
/// trainers write before the map is known), "d2t-absolute" and "d2t-offsets" (ids where the format
/// has offsets, and the reverse), "id-range", "id-twice", "t2d-empty", "t2d-values", "t2d-length",
/// "t2d-differs".
MapDiagnosis DiagnoseMap(const StoredMap& map, int64_t vocab_size);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_FORMATS_MAP_FAULTS_H_
