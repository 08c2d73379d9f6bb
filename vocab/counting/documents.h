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
  std::vector<int64_t> ids;  // its tokens, used instead of the text; empty: none
  std::string prompt;        // text before it, not counted; valid UTF-8
  std::string category;      // empty: none
  bool continues = false;    // it continues the document before it
};

/// Names of the members of a JSON row.
struct DocumentFields {
  // A string; strings: one document each; integers: tokens of one document.
  std::string text = "text";
  // A string, or strings: the i-th is for the i-th text, the last one for all further texts. Empty:
  // no prompts.
  std::string prompt;
  std::string category = "category";
};

/// Reads the documents of a file in order. A file whose name ends in .jsonl or .ndjson, before any
/// .gz, .xz or .zst, has a JSON object (or a string) in each line. Any other file is text, cut into
/// documents of about 64 KiB at line ends; bytes that are not UTF-8 become U+FFFD. Memory use does
/// not grow with the file. Used by one thread.
class Documents {
 public:
  /// Errors of ByteSource::Open and CheckIsText (vocab/counting/binary_file.h); all name the file.
  /// "-" is standard input, read from `in`. `is_jsonl`: rows of JSON, whatever the name.
  static absl::StatusOr<std::unique_ptr<Documents>> Open(const std::string& path, bool is_jsonl,
                                                         const DocumentFields& fields,
                                                         std::istream& in);

  /// Returns the next documents, about `bytes` bytes together; none at the end. InvalidArgument
  /// names file and line: invalid JSON, a member of another type, a line longer than 64 MiB. Errors
  /// of ByteSource::Read. Documents before an error are returned first; the next call returns the
  /// error.
  absl::StatusOr<std::vector<Document>> Read(int64_t bytes);

  int64_t num_bytes() const { return num_bytes_; }                          // unpacked bytes read
  int64_t num_stored_bytes() const { return source_->num_stored_bytes(); }  // packed bytes read
  /// Rows without the member of the text; rows with a text but without the prompt, if prompts are
  /// asked for.
  int64_t num_rows_without_text() const { return num_rows_without_text_; }
  int64_t num_rows_without_prompt() const { return num_rows_without_prompt_; }

 private:
  Documents(std::unique_ptr<ByteSource> source, std::string name, bool is_jsonl,
            const DocumentFields& fields)
      : source_(std::move(source)), name_(std::move(name)), is_jsonl_(is_jsonl), fields_(fields) {}

  /// Appends a chunk to buffer_; returns false at the end.
  absl::StatusOr<bool> Fill();
  absl::Status TakeRow(std::vector<Document>& documents);
  absl::Status AddRow(const std::string& row, std::vector<Document>& documents);
  void TakeText(std::vector<Document>& documents);

  const std::unique_ptr<ByteSource> source_;
  const std::string name_;
  const bool is_jsonl_;
  const DocumentFields fields_;
  std::string buffer_;
  size_t begin_ = 0;  // of the part not yet returned
  bool at_end_ = false;
  bool continues_ = false;
  int64_t line_ = 0;
  int64_t num_bytes_ = 0;
  int64_t num_rows_without_text_ = 0, num_rows_without_prompt_ = 0;
};

/// True if the name, without .gz, .xz or .zst, ends in .jsonl or .ndjson.
bool IsJsonl(const std::string& path);

}  // namespace shortlist

#endif  // SHORTLIST_VOCAB_COUNTING_DOCUMENTS_H_
