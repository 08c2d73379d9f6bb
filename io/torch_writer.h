#ifndef SHORTLIST_IO_TORCH_WRITER_H_
#define SHORTLIST_IO_TORCH_WRITER_H_

#include <cstdint>
#include <span>
#include <string>

namespace shortlist {

/// Returns what torch.save writes for a one-dimensional int64 tensor of `values`: a zip archive of
/// a pickle and the tensor's storage. torch.load(weights_only=True) reads it.
std::string TorchFileOf(std::span<const int64_t> values);

}  // namespace shortlist

#endif  // SHORTLIST_IO_TORCH_WRITER_H_
