#include "runtime/kv_pool_size.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace shortlist {
namespace {

constexpr int64_t kLeastSlots = 16384;
constexpr int64_t kMostSlots = 1 << 28;  // bound of SchedulerOptions
constexpr int64_t kMostBytes = std::numeric_limits<int64_t>::max();

/// Contents of a kernel file, which reports its size as 0; empty if it cannot be read.
std::string Contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

/// The number at the start of `text`, after spaces.
std::optional<int64_t> NumberAt(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  return number;
}

/// The value in the line "name value" of `text`.
std::optional<int64_t> ValueOf(std::string_view name, std::string_view text) {
  for (size_t begin = 0; begin < text.size();) {
    const std::string_view line = text.substr(begin, text.find('\n', begin) - begin);
    if (line.starts_with(name)) return NumberAt(line.substr(name.size()));
    begin += line.size() + 1;
  }
  return std::nullopt;
}

/// Free memory of a control group: its limit less its usage, without file pages.
int64_t FreeInGroup(const std::string& dir, const char* limit_file, const char* usage_file,
                    const std::string& prefix) {
  const std::optional<int64_t> limit = NumberAt(Contents(dir + limit_file));  // "max": none
  const std::optional<int64_t> usage = NumberAt(Contents(dir + usage_file));
  if (!limit.has_value() || !usage.has_value()) return kMostBytes;
  const std::string stat = Contents(dir + "memory.stat");
  int64_t held = *usage;
  for (const char* name : {"active_file ", "inactive_file "}) {
    held -= std::clamp<int64_t>(ValueOf(absl::StrCat(prefix, name), stat).value_or(0), 0, held);
  }
  return std::max<int64_t>(*limit - held, 0);
}

/// Minimum over `base` and the groups of `path` below it. In a container the path often belongs to
/// another view of the file system; missing groups are ignored.
int64_t FreeInGroups(const std::string& base, std::string_view path, bool is_version_2) {
  const auto free_in = [&](std::string_view group) {
    const std::string dir = absl::StrCat(base, std::string(group), "/");
    return is_version_2
               ? FreeInGroup(dir, "memory.max", "memory.current", "")
               : FreeInGroup(dir, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_");
  };
  int64_t least = free_in("");
  while (!path.empty()) {
    least = std::min(least, free_in(path));
    path = path.substr(0, path.rfind('/'));
  }
  return least;
}

/// The path in the line "N:controllers:path" of `controllers`; empty: there is no such line, or the
/// path is the root.
std::string_view GroupPath(std::string_view lines, std::string_view controllers) {
  const size_t name = lines.find(controllers);
  if (name == std::string_view::npos) return "";
  const std::string_view rest = lines.substr(name + controllers.size());
  const std::string_view path = rest.substr(0, rest.find('\n'));
  return path == "/" || !path.starts_with('/') ? "" : path;
}

}  // namespace

int64_t FreeMemoryBytes(const std::string& root) {
  const std::string meminfo = Contents(absl::StrCat(root, "/proc/meminfo"));
  const std::optional<int64_t> kib = ValueOf("MemAvailable:", meminfo);
  const int64_t available = kib.has_value() && *kib < kMostBytes / 1024 ? *kib * 1024 : kMostBytes;
  const std::string groups = Contents(absl::StrCat(root, "/proc/self/cgroup"));
  const std::string mount = absl::StrCat(root, "/sys/fs/cgroup");
  return std::min({available, FreeInGroups(mount, GroupPath(groups, "0::"), true),
                   FreeInGroups(mount + "/memory", GroupPath(groups, ":memory:"), false)});
}

int64_t LimitRunning(int64_t free_bytes, int64_t state_bytes, int64_t wanted) {
  return std::clamp<int64_t>(free_bytes / 4 / state_bytes, 1, wanted);
}

int64_t ChooseNumSlots(int64_t free_bytes, int64_t slot_bytes, int64_t context_length) {
  const int64_t context = std::clamp<int64_t>(context_length, 1, kMostSlots);
  const int64_t wanted = std::clamp(4 * context, kLeastSlots, kMostSlots);
  const int64_t roomy = free_bytes / 2 / slot_bytes;
  const int64_t tight = (free_bytes - free_bytes / 10) / slot_bytes;
  return std::clamp<int64_t>(std::max(roomy, std::min(context, tight)), 1, wanted);
}

}  // namespace shortlist
