#include "cli/vocab/corpus_file.h"

#include "base/status_macros.h"
#include "cli/vocab/counted_already.h"

namespace shortlist {

absl::StatusOr<CorpusFile> CorpusFile::Open(const std::string& path, bool is_jsonl,
                                            const DocumentFields& fields, std::istream& in) {
  CountedFile opened = LookAt(path);
  SHORTLIST_ASSIGN_OR_RETURN(std::unique_ptr<Documents> documents,
                             Documents::Open(path, is_jsonl, fields, in));
  return CorpusFile(std::move(opened), std::move(documents));
}

absl::StatusOr<std::vector<Document>> CorpusFile::Read(int64_t bytes) {
  SHORTLIST_ASSIGN_OR_RETURN(std::vector<Document> batch, documents_->Read(bytes));
  if (batch.empty()) SHORTLIST_RETURN_IF_ERROR(CheckUnchanged(opened_));
  return batch;
}

}  // namespace shortlist
