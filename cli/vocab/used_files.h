#ifndef SHORTLIST_CLI_VOCAB_USED_FILES_H_
#define SHORTLIST_CLI_VOCAB_USED_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/flags/flags.h"
#include "cli/vocab/list_tokenizer.h"
#include "cli/vocab/text_corpora.h"

namespace shortlist {

/// A file that a command reads or writes, and the flag that names it.
struct UsedFile {
  std::string flag;  // as shown to the user; may be empty: a positional argument
  std::string path;  // "-": standard input; empty: none
};

/// Check before long work. InvalidArgument names the flag of an output that cannot be written, or
/// that is the same regular file as an input or another output, by device and inode, through links.
/// Devices and pipes are allowed: nothing is lost. `inputs` must not contain outputs that are read
/// before they are written.
absl::Status CheckOutputs(const std::vector<UsedFile>& outputs,
                          const std::vector<UsedFile>& inputs);

/// InvalidArgument names a file that occurs twice in `inputs`.
absl::Status CheckDistinct(const std::vector<UsedFile>& inputs);

/// All files of the corpora.
std::vector<UsedFile> FilesOf(const std::vector<TextCorpus>& corpora);

/// The tokenizer's file, or the files of a model directory.
std::vector<UsedFile> FilesOf(const TokenizerSource& source);

/// List, sketch, prompts and model files.
std::vector<UsedFile> FilesOf(const RunFlags& flags);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_USED_FILES_H_
