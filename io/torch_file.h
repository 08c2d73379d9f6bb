#ifndef SHORTLIST_IO_TORCH_FILE_H_
#define SHORTLIST_IO_TORCH_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/tensor_file.h"

namespace shortlist {

/// Opens a state dict that torch.save wrote (pytorch_model.bin, *.pt): a zip archive of a pickle
/// and the tensors' storages. Nothing in the pickle is executed; it may name tensors and the
/// containers that hold them, everything else is refused by its name. Every tensor lies inside its
/// storage, and has no more elements than that. NotFound when there is no such file;
/// InvalidArgument names the file, the tensor, the value and the bound; Unimplemented what is
/// well-formed and not read here: the formats before PyTorch 1.6, compressed members, big-endian
/// data.
absl::StatusOr<TensorFile> OpenTorchFile(const std::string& path);

/// Integers that torch.save wrote alone: a list of them, or a tensor of one dimension and any
/// integer dtype (the token maps of FR-Spec and SGLang). Nothing is executed here either; errors as
/// OpenTorchFile.
absl::StatusOr<std::vector<int64_t>> ReadTorchIntegers(const std::string& path);

/// Whether the file holds a dict, which OpenTorchFile reads, rather than what ReadTorchIntegers
/// reads. Errors as OpenTorchFile.
absl::StatusOr<bool> IsTorchDict(const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_IO_TORCH_FILE_H_
