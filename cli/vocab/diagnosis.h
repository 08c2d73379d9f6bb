#ifndef SHORTLIST_CLI_VOCAB_DIAGNOSIS_H_
#define SHORTLIST_CLI_VOCAB_DIAGNOSIS_H_

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "cli/vocab/head_checks.h"
#include "cli/vocab/text_loss.h"
#include "text/tokenizer.h"

namespace shortlist {

/// Result of `vocab doctor`. References must outlive it.
struct Diagnosis {
  std::string path;
  const Tokenizer& tokenizer;
  int64_t num_rows = 0;  // distinct ids with a row
  int64_t vocab_size = 0;
  Findings findings;
  const TextLoss& loss;

  /// Rows whose tokens make up at least `share` of the covered tokens of the texts, the most
  /// frequent first.
  int64_t NumRowsFor(double share) const;
  /// One or two sentences: whether the file is sound, what it loses, and what to do.
  std::string Verdict() const;
};

/// Writes findings, what the texts lose, and the verdict.
void WriteDiagnosis(const Diagnosis& diagnosis, std::ostream& out);
/// Same as WriteDiagnosis(), as one JSON object.
void WriteDiagnosisJson(const Diagnosis& diagnosis, std::ostream& out);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_DIAGNOSIS_H_
