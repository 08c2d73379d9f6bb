#include "cli/vocab/counted_already.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <iterator>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/excerpt.h"
#include "base/status_macros.h"

namespace shortlist {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;

int64_t Nanoseconds(const timespec& time) {
  return int64_t{time.tv_sec} * kNsPerSecond + time.tv_nsec;
}

/// "2026-03-01 12:00:00.250 UTC"
std::string TimeText(int64_t ns) {
  const auto seconds = static_cast<time_t>(ns / kNsPerSecond);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[40] = "";
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &utc);
  return absl::StrFormat("%s.%03d UTC", text, ns % kNsPerSecond / 1'000'000);
}

/// "120 bytes of 2026-03-01 12:00:00.250 UTC"
std::string SizeAndTime(const CountedFile& file) {
  return absl::StrFormat("%d bytes of %s", file.bytes, TimeText(file.modified_ns));
}

bool IsSame(const CountedFile& now, const CountedFile& then) {
  return now.bytes == then.bytes && now.modified_ns == then.modified_ns;
}

absl::Status CheckFile(const std::string& counts_path, const CountedFile& counted) {
  const CountedFile now = LookAt(counted.path);
  if (now.bytes < 0) {
    return RefuseTexts(
        counts_path,
        absl::StrCat("has counted ", counted.path == "-" ? "standard input" : Excerpt(counted.path),
                     " already, whose bytes come but once"));
  }
  if (counted.bytes < 0) return absl::OkStatus();
  if (IsSame(now, counted)) return absl::OkStatus();
  return RefuseTexts(counts_path,
                     absl::StrCat("has counted ", Excerpt(counted.path), " with ",
                                  SizeAndTime(counted), ", and now it has ", SizeAndTime(now)));
}

}  // namespace

CountedFile LookAt(const std::string& path) {
  CountedFile file{.path = path};
  struct stat status {};
  if (path == "-" || stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return file;
  file.bytes = status.st_size;
  file.modified_ns = Nanoseconds(status.st_mtim);
  file.changed_ns = Nanoseconds(status.st_ctim);
  return file;
}

absl::Status CheckUnchanged(const CountedFile& opened) {
  const CountedFile now = LookAt(opened.path);
  if (opened.bytes < 0) return absl::OkStatus();
  std::string found = "it has " + SizeAndTime(now);
  if (now.bytes < 0) {
    found = "its name leads to no file";
  } else if (IsSame(now, opened)) {
    if (now.changed_ns == opened.changed_ns) return absl::OkStatus();
    absl::StrAppend(&found, ", but was changed at ", TimeText(now.changed_ns));
  }
  return absl::FailedPreconditionError(absl::StrCat(
      Excerpt(opened.path), ": has changed while it was read: it had ", SizeAndTime(opened),
      ", and now ", found, "; give a copy that nothing writes to"));
}

std::string ReadAs(const TextCorpus& corpus, bool is_jsonl, const DocumentFields& fields) {
  const auto num_rows = std::ranges::count_if(
      corpus.files, [is_jsonl](const std::string& path) { return is_jsonl || IsJsonl(path); });
  if (num_rows == 0) return "text";
  return absl::StrCat(num_rows < std::ssize(corpus.files) ? "text and rows" : "rows",
                      " by --text-key ", fields.text,
                      fields.prompt.empty() ? "" : " --prompts-key ", fields.prompt);
}

absl::Status RefuseTexts(const std::string& counts_path, const std::string& problem) {
  return absl::FailedPreconditionError(
      absl::StrCat(counts_path, ": ", problem,
                   ": name another file for --counts, or remove this one to count anew"));
}

absl::Status CheckCounted(const std::string& counts_path, const TextCorpus& corpus,
                          const std::string& read_as, const CorpusCounts& counts) {
  const size_t num_counted = counts.files.size();
  bool goes_on = counts.name == corpus.name && num_counted <= corpus.files.size();
  for (size_t i = 0; goes_on && i < num_counted; ++i) {
    goes_on = counts.files[i].path == corpus.files[i];
  }
  if (goes_on && !counts.open_file.empty()) {
    goes_on = num_counted < corpus.files.size() && corpus.files[num_counted] == counts.open_file;
  }
  if (!goes_on || counts.weight != corpus.weight) {
    return RefuseTexts(counts_path, absl::StrCat("holds counts of ", Excerpt(counts.name),
                                                 ", other texts or another weight than --text ",
                                                 Excerpt(corpus.name)));
  }
  if (!counts.read_as.empty() && counts.read_as != read_as) {
    return RefuseTexts(counts_path, absl::StrCat("has counted ", Excerpt(corpus.name), " as ",
                                                 Excerpt(counts.read_as), ", and now it is to be ",
                                                 Excerpt(read_as)));
  }
  for (const CountedFile& file : counts.files) {
    SHORTLIST_RETURN_IF_ERROR(CheckFile(counts_path, file));
  }
  if (!counts.documents_crc) {
    std::cerr << "build: whether " << Excerpt(counts.open_file) << ", counted in part, has changed "
              << "since is not known: " << counts_path
              << " is of an older version, which did not note it\n";
  }
  if (num_counted == 0) return absl::OkStatus();
  const bool is_known = !counts.read_as.empty();
  std::cerr << "build: counted already, not read: " << Excerpt(corpus.name);
  if (num_counted < corpus.files.size()) {
    std::cerr << ", the first " << num_counted << " of its " << corpus.files.size() << " files";
  }
  if (!is_known) {
    std::cerr << " (whether it has changed since is not known: " << counts_path
              << " is of an older version, which did not note it)";
  }
  std::cerr << "\n";
  return absl::OkStatus();
}

}  // namespace shortlist
