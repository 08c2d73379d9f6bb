#ifndef SHORTLIST_IO_HUB_CACHE_H_
#define SHORTLIST_IO_HUB_CACHE_H_

#include <string>

#include "absl/status/statusor.h"

namespace shortlist {

/// Returns the directory that `model` names: `model` itself if it is a directory, else the snapshot
/// of the Hugging Face repository `org/name` or `org/name@revision` in the user's cache. A revision
/// is a branch, a tag or a commit; the default is `main`. Nothing is downloaded.
///
/// The cache is $HF_HUB_CACHE, $HF_HOME/hub, $XDG_CACHE_HOME/huggingface/hub or
/// ~/.cache/huggingface/hub: the first whose variable is set.
///
/// NotFound names what is missing and where it was searched. InvalidArgument names a file, or a
/// name or revision that no repository can have (such as one that leads out of the cache).
absl::StatusOr<std::string> ResolveModelDir(const std::string& model);

}  // namespace shortlist

#endif  // SHORTLIST_IO_HUB_CACHE_H_
