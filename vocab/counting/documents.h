#ifndef SHORTLIST_VOCAB_COUNTING_DOCUMENTS_H_
#define SHORTLIST_VOCAB_COUNTING_DOCUMENTS_H_

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "io/byte_source.h"

namespace shortlist {

/// A text whose tokens are counted.
struct Document {
  std::string text;          // valid UTF-8
  std::vector<int64_t> ids;  // its tokens, in place of the text; empty: not told
  std::string prompt;        // what stands before it and is not counted; valid UTF-8
  std::string category;      // empty: none
  bool continues = false;    // it goes on where the document before it ended
};

/// Which members of a JSON row hold what.
struct DocumentFields {
  std::string text = "text";  // a string; strings: a document each; integers: tokens of one
  std::string prompt;  // a string, or strings: one for each text or for all; empty: there is none
  std::string category = "category";
};

/// The documents of a file, in its order. A file whose name, without .gz, .xz or .zst, ends in
/// .jsonl has a JSON object (or a string) in each line; any other is text, which is cut into
/// documents of some 64 KiB at ends of lines, bytes that are not UTF-8 replaced by U+FFFD. Memory
/// does not grow with the file. Of one thread.
class Documents {
 public:
  /// Errors as ByteSource::Open, and those of CheckIsText (vocab/counting/binary_file.h), which
  /// name the file. "-" is standard input, rows of JSON where `is_jsonl` says so.
  static absl::StatusOr<std::unique_ptr<Documents>> Open(const std::string& path, bool is_jsonl,
                                                         const DocumentFields& fields,
                                                         std::istream& in);

  /// The next documents, of some `bytes` bytes together; none: the end. InvalidArgument names file
  /// and line: what is not JSON, a member of another type, a line of more than 64 MiB. Errors of
  /// ByteSource::Read. What was read before stands, and comes with the next call.
  absl::StatusOr<std::vector<Document>> Read(int64_t bytes);

  int64_t num_bytes() const { return num_bytes_; }  // unpacked, that were read
  int64_t num_stored_bytes() const { return source_->num_stored_bytes(); }  // packed as they are
  /// Rows without the member that holds the text; and others without the one of the prompt, where
  /// one is asked for.
  int64_t num_rows_without_text() const { return num_rows_without_text_; }
  int64_t num_rows_without_prompt() const { return num_rows_without_prompt_; }

 private:
  Documents(std::unique_ptr<ByteSource> source, std::string name, bool is_jsonl,
            const DocumentFields& fields)
      : source_(std::move(source)), name_(std::move(name)), is_jsonl_(is_jsonl), fields_(fields) {}

  /// Appends a chunk to buffer_; false at the end.
  absl::StatusOr<bool> Fill();
  absl::Status TakeRow(std::vector<Document>& documents);
  absl::Status AddRow(const std::string& row, std::vector<Document>& documents);
  void TakeText(std::vector<Document>& documents);

  const std::unique_ptr<ByteSource> source_;
  const std::string name_;
  const bool is_jsonl_;
  const DocumentFields fields_;
  std::string buffer_;
  size_t begin_ = 0;  // of what is not yet taken
  bool at_end_ = false;
  bool continues_ = false;
  int64_t line_ = 0;
  int64_t num_bytes_ = 0;
  int64_t num_rows_without_text_ = 0, num_rows_without_prompt_ = 0;
};

/// Whether a name is that of rows of JSON.
bool IsJsonl(const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COUNTING_DOCUMENTS_H_
