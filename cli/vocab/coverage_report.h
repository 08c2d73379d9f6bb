#ifndef SHORTLIST_CLI_VOCAB_COVERAGE_REPORT_H_
#define SHORTLIST_CLI_VOCAB_COVERAGE_REPORT_H_

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "vocab/counting/coverage.h"

namespace shortlist {

/// A list at one size, and what it covered by texts.
struct Measured {
  std::string list;
  CoverageMeter meter;
  std::map<std::string, Coverage> of_texts;  // by corpus, or by corpus and category
};

/// A size that a list does not have, and why.
struct RefusedList {
  std::string list;
  std::string why;
};

/// What `vocab coverage` came to.
struct MeasuredLists {
  std::vector<Measured> lists;
  std::vector<RefusedList> refused;
};

/// A row for each list and text, then one for each size that is refused. `vocab_size` is the
/// tokenizer's.
void WriteCoverageTable(const MeasuredLists& measured, int64_t vocab_size, std::ostream& out);
/// The same as one JSON object; the row of a refused size has an "error".
void WriteCoverageJson(const MeasuredLists& measured, int64_t vocab_size, std::ostream& out);
/// An SVG document with a curve for each text: coverage against rows.
std::string CoveragePlot(const MeasuredLists& measured);

}  // namespace shortlist

#endif  // SHORTLIST_CLI_VOCAB_COVERAGE_REPORT_H_
