#include "runtime/kv_pool_size.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>

#include "tests/support/temp_dir.h"

namespace shortlist {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

/// A root with these files.
class Machine {
 public:
  void Write(const std::string& path, const std::string& contents) const {
    std::filesystem::create_directories(std::filesystem::path(dir_.Join(path)).parent_path());
    dir_.Write(path, contents);
  }
  int64_t free() const { return FreeMemoryBytes(dir_.path()); }

 private:
  const TempDir dir_;
};

TEST(FreeMemoryBytesTest, IsPositiveOnThisMachine) {
  EXPECT_GT(FreeMemoryBytes(), 1 << 20);
  EXPECT_LT(FreeMemoryBytes(), int64_t{1} << 50);
}

TEST(FreeMemoryBytesTest, MatchesAvailableMemory) {
  Machine machine;
  EXPECT_EQ(machine.free(), kUnlimited);
  machine.Write("proc/meminfo",
                "MemTotal:  24000000 kB\nMemFree: 1 kB\nMemAvailable:    2048 kB\n");
  EXPECT_EQ(machine.free(), 2048 * 1024);
  for (const char* broken : {"", "MemAvailable:", "MemAvailable: -5 kB",
                             "MemAvailable: 99999999999999999999 kB", "MemAvailable: x"}) {
    machine.Write("proc/meminfo", broken);
    EXPECT_EQ(machine.free(), kUnlimited) << broken;
  }
}

TEST(FreeMemoryBytesTest, ContainerLimitMinusUsedExceptFilePages) {
  Machine machine;
  machine.Write("proc/meminfo", "MemAvailable: 8388608 kB\n");
  machine.Write("proc/self/cgroup", "0::/\n");
  machine.Write("sys/fs/cgroup/memory.max", "max\n");
  machine.Write("sys/fs/cgroup/memory.current", "1000\n");
  EXPECT_EQ(machine.free(), 8 * kGiB);
  machine.Write("sys/fs/cgroup/memory.max", "5000\n");
  machine.Write("sys/fs/cgroup/memory.stat", "anon 300\ninactive_file 200\nactive_file 100\n");
  EXPECT_EQ(machine.free(), 5000 - 700);
  machine.Write("sys/fs/cgroup/memory.current", "9000\n");
  EXPECT_EQ(machine.free(), 0);
}

TEST(FreeMemoryBytesTest, TightestParentGroupCounts) {
  Machine machine;
  machine.Write("proc/meminfo", "MemAvailable: 8388608 kB\n");
  machine.Write("proc/self/cgroup", "0::/a.slice/b.scope\n");
  machine.Write("sys/fs/cgroup/a.slice/memory.max", "4000\n");
  machine.Write("sys/fs/cgroup/a.slice/memory.current", "1000\n");
  machine.Write("sys/fs/cgroup/a.slice/b.scope/memory.max", "max\n");
  machine.Write("sys/fs/cgroup/a.slice/b.scope/memory.current", "1000\n");
  EXPECT_EQ(machine.free(), 3000);
}

TEST(FreeMemoryBytesTest, ReadsCgroupVersionOne) {
  Machine machine;
  machine.Write("proc/self/cgroup", "5:cpu,cpuacct:/other\n4:memory:/docker/x\n");
  machine.Write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  machine.Write("sys/fs/cgroup/memory/memory.usage_in_bytes", "5000\n");
  machine.Write("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "7000\n");
  machine.Write("sys/fs/cgroup/memory/docker/x/memory.usage_in_bytes", "5000\n");
  machine.Write("sys/fs/cgroup/memory/docker/x/memory.stat",
                "inactive_file 9\ntotal_inactive_file 1000\n");
  EXPECT_EQ(machine.free(), 3000);
}

TEST(ChooseNumSlotsTest, FourContextsAndAtLeast16kSlotsIfMemoryAllows) {
  EXPECT_EQ(ChooseNumSlots(kUnlimited, /*slot_bytes=*/1000, /*context_length=*/1024), 16384);
  EXPECT_EQ(ChooseNumSlots(64 * kGiB, /*slot_bytes=*/12288, /*context_length=*/32768), 131072);
  EXPECT_EQ(ChooseNumSlots(kUnlimited, 1, kUnlimited), 1 << 28);
}

TEST(ChooseNumSlotsTest, OtherwiseHalfOfMemoryButOneContext) {
  EXPECT_EQ(ChooseNumSlots(/*free_bytes=*/100'000, /*slot_bytes=*/10, /*context_length=*/4000),
            5000);
  EXPECT_EQ(ChooseNumSlots(/*free_bytes=*/100'000, /*slot_bytes=*/10, /*context_length=*/8000),
            8000);
  EXPECT_EQ(ChooseNumSlots(/*free_bytes=*/100'000, /*slot_bytes=*/10, /*context_length=*/20'000),
            9000);
  EXPECT_EQ(ChooseNumSlots(/*free_bytes=*/0, /*slot_bytes=*/10, /*context_length=*/20'000), 1);
}

}  // namespace
}  // namespace shortlist
