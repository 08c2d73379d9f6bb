#ifndef SHORTLIST_CLI_VOCAB_COVERAGE_REPORT_H_
#define SHORTLIST_CLI_VOCAB_COVERAGE_REPORT_H_

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "vocab/counting/coverage.h"

namespace shortlist {

/// A list at one size, and its coverage of texts.
struct Measured {
  std::string list;
  CoverageMeter meter;
  std::map<std::string, Coverage> of_texts;  // keyed by corpus, or by corpus and category
};

/// A size that a list does not have, and why.
struct RefusedList {
  std::string list;
  std::string why;
};

/// Result of `vocab coverage`.
struct MeasuredLists {
  std::vector<Measured> lists;
  std::vector<RefusedList> refused;
};

/// Writes a row for each list and text, then one for each refused size. `vocab_size` is the
/// tokenizer's.
void WriteCoverageTable(const MeasuredLists& measured, int64_t vocab_size, std::ostream& out);
/// Same as WriteCoverageTable(), as one JSON object. The row of a refused size has an "error".
void WriteCoverageJson(const MeasuredLists& measured, int64_t vocab_size, std::ostream& out);
/// Returns an SVG document with a curve for each text: coverage against rows.
std::string CoveragePlot(const MeasuredLists& measured);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_COVERAGE_REPORT_H_
