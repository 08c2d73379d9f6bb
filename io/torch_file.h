#ifndef SHORTLIST_IO_TORCH_FILE_H_
#define SHORTLIST_IO_TORCH_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/tensor_file.h"

namespace shortlist {

/// Opens a state dict that torch.save wrote (pytorch_model.bin, *.pt): a zip archive of a pickle
/// and the tensors' storages. Nothing in the pickle is executed. It may name tensors and the
/// containers that hold them; every other name is rejected. Every tensor lies inside its storage,
/// and has no more elements than the storage. NotFound if there is no such file. InvalidArgument
/// names the file, the tensor, the value and the bound. Unimplemented names well-formed contents
/// that are not supported: formats before PyTorch 1.6, compressed members, big-endian data.
///
/// Every record (member of the archive) that is read is checked against its CRC-32, unless it has
/// none (ZipMember::crc32): the pickle here, a tensor's storage when TensorFile::Read first reads
/// from it. InvalidArgument names the file and the damaged record.
absl::StatusOr<TensorFile> OpenTorchFile(const std::string& path);

/// Reads integers that torch.save wrote outside a dict: a list of them, or a tensor of one
/// dimension and any integer dtype (the token maps of FR-Spec and SGLang). Executes nothing. Errors
/// are those of OpenTorchFile.
absl::StatusOr<std::vector<int64_t>> ReadTorchIntegers(const std::string& path);

/// True if the file holds a dict, for OpenTorchFile; false if it holds other contents, such as
/// those for ReadTorchIntegers. Errors are those of OpenTorchFile.
absl::StatusOr<bool> IsTorchDict(const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_IO_TORCH_FILE_H_
