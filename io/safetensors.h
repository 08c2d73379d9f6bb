#ifndef SHORTLIST_IO_SAFETENSORS_H_
#define SHORTLIST_IO_SAFETENSORS_H_

#include <string>

#include "absl/status/statusor.h"
#include "io/tensor_file.h"

namespace shortlist {

/// Opens a safetensors file. Reads and checks the whole header: entries neither overlap nor leave
/// holes, as the format demands. NotFound if there is no such file. InvalidArgument names the file,
/// the tensor, the value and the bound.
absl::StatusOr<TensorFile> OpenSafetensors(const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_IO_SAFETENSORS_H_
