#include "text/tokenizer/literal_ranges.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/status_macros.h"

namespace shortlist {
namespace {

// U+F8C0 to U+F8FF: private use, so no normal form changes them.
constexpr std::string_view kMarkPrefix = "\xEF\xA3";
constexpr uint8_t kFirstMark = 0x80;
constexpr size_t kNumMarks = 64;

/// Returns a character that `text` does not contain; nullopt if it contains all of them.
std::optional<std::string> ChooseMark(std::string_view text) {
  std::array<bool, kNumMarks> taken{};
  for (size_t at = text.find(kMarkPrefix); at != std::string_view::npos;
       at = text.find(kMarkPrefix, at + 1)) {
    taken[static_cast<uint8_t>(text[at + kMarkPrefix.size()]) - kFirstMark] = true;
  }
  const auto free = std::find(taken.begin(), taken.end(), false);
  if (free == taken.end()) return std::nullopt;
  std::string mark(kMarkPrefix);
  mark.push_back(static_cast<char>(kFirstMark + (free - taken.begin())));
  return mark;
}

/// Returns the begins and ends of ranges, except for the ends of the text: a mark there would
/// interfere with steps that look for those.
std::vector<size_t> Borders(const std::vector<ByteRange>& ranges, size_t text_bytes) {
  std::vector<size_t> borders;
  for (const ByteRange& range : ranges) {
    if (range.begin > 0) borders.push_back(range.begin);
    if (range.end < text_bytes) borders.push_back(range.end);
  }
  return borders;
}

std::string WithMarks(std::string_view text, const std::vector<size_t>& borders,
                      std::string_view mark) {
  std::string marked;
  marked.reserve(text.size() + borders.size() * mark.size());
  size_t done = 0;
  for (const size_t border : borders) {
    marked.append(text.substr(done, border - done));
    marked.append(mark);
    done = border;
  }
  marked.append(text.substr(done));
  return marked;
}

/// Removes the marks from `text` and returns their positions.
std::vector<size_t> TakeMarks(std::string_view mark, std::string& text) {
  std::vector<size_t> borders;
  std::string rest;
  size_t done = 0;
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, done)) {
    rest.append(text, done, at - done);
    borders.push_back(rest.size());
    done = at + mark.size();
  }
  rest.append(text, done);
  text = std::move(rest);
  return borders;
}

}  // namespace

std::vector<ByteRange> RangesWithin(ByteRange part, std::span<const ByteRange> ranges) {
  const auto first =
      std::partition_point(ranges.begin(), ranges.end(),
                           [&part](const ByteRange& range) { return range.end <= part.begin; });
  std::vector<ByteRange> within;
  for (auto range = first; range != ranges.end() && range->begin < part.end; ++range) {
    within.push_back({std::max(range->begin, part.begin) - part.begin,
                      std::min(range->end, part.end) - part.begin});
  }
  return within;
}

absl::Status MoveRanges(const Normalizer& normalizer, std::string_view text, EncodeBudget& budget,
                        NormalizedText& normalized, std::vector<ByteRange>& ranges) {
  const bool begins_inside = ranges.front().begin == 0;
  std::vector<size_t> borders = Borders(ranges, text.size());
  ranges = {{0, normalized.text.size()}};
  if (borders.empty()) return absl::OkStatus();
  const std::optional<std::string> mark = ChooseMark(text);
  if (!mark.has_value()) return absl::OkStatus();
  NormalizedText marked{.text = WithMarks(text, borders, *mark),
                        .at_origin = normalized.at_origin,
                        .max_bytes = budget.rewritten_bytes(),
                        .budget = &budget};
  SHORTLIST_RETURN_IF_ERROR(Apply(normalizer, marked));
  SHORTLIST_RETURN_IF_ERROR(budget.TakeBytes(marked.text.size()));
  const size_t num_marks = borders.size();
  borders = TakeMarks(*mark, marked.text);
  if (borders.size() != num_marks) return absl::OkStatus();
  normalized.text = std::move(marked.text);
  if (begins_inside) borders.insert(borders.begin(), 0);
  if (borders.size() % 2 != 0) borders.push_back(normalized.text.size());
  ranges.clear();
  for (size_t i = 0; i < borders.size(); i += 2) {
    if (borders[i] < borders[i + 1]) ranges.push_back({borders[i], borders[i + 1]});
  }
  return absl::OkStatus();
}

}  // namespace shortlist
