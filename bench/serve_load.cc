// Many concurrent streams against a running `shortlist serve`. Some readers disconnect at a random
// time, some read a few bytes at a time. Prints one line of JSON: how the requests ended, the
// latencies of normal readers, and the server's resources before and after.

#include <poll.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "bench/stream_client.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using Clock = std::chrono::steady_clock;

struct Flags {
  uint16_t port = 30000;
  std::string model = "demo";
  int64_t num_streams = 512;
  double seconds = 60.0;
  double disconnecting = 0.1, slow = 0.05;  // shares of the requests
  int64_t num_prompt_words = 24, max_tokens = 64;
  int64_t pid = 0;  // server process, for its memory use; 0: unknown
  uint64_t seed = 1;
};

enum class Kind { kSteady, kDisconnecting, kSlow };

/// One stream, which sends one request after the other.
struct Slot {
  std::unique_ptr<StreamClient> client;
  Kind kind = Kind::kSteady;
  Clock::time_point begin, last_event, leaves;
  Clock::time_point next_read;  // for a slow reader
};

struct Counts {
  int64_t started = 0, done = 0, disconnected = 0, slow_cut = 0, refused = 0, broken = 0;
  int64_t num_events = 0;
  std::vector<double> first_event_s, gap_s;
};

int64_t ResidentKiB(int64_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::stoll(line.substr(6));
  }
  return 0;
}

double Percentile(std::vector<double>& values, size_t percent) {
  if (values.empty()) return 0.0;
  std::sort(values.begin(), values.end());
  return values[(values.size() * percent + 99) / 100 - 1];
}

double Seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }

class Load {
 public:
  explicit Load(const Flags& flags)
      : flags_(flags), random_(flags.seed), slots_(static_cast<size_t>(flags.num_streams)) {}

  Counts Run() {
    const Clock::time_point end = Clock::now() + ToDuration(flags_.seconds);
    for (Slot& slot : slots_) Begin(slot);
    while (Clock::now() < end) {
      WaitForSome();
      for (Slot& slot : slots_) Turn(slot);
    }
    for (Slot& slot : slots_) slot.client.reset();
    return counts_;
  }

 private:
  static constexpr std::chrono::milliseconds kSlowPause{20};
  static constexpr size_t kSlowBytes = 64;

  static Clock::duration ToDuration(double seconds) {
    return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  }

  void Begin(Slot& slot) {
    const double draw = std::uniform_real_distribution<>(0.0, 1.0)(random_);
    slot.kind = draw < flags_.disconnecting                 ? Kind::kDisconnecting
                : draw < flags_.disconnecting + flags_.slow ? Kind::kSlow
                                                            : Kind::kSteady;
    slot.begin = slot.last_event = slot.next_read = Clock::now();
    slot.leaves = slot.begin + ToDuration(std::uniform_real_distribution<>(0.0, 2.0)(random_));
    slot.client = std::make_unique<StreamClient>(
        flags_.port,
        CompletionBody(flags_.model, counts_.started, flags_.num_prompt_words, flags_.max_tokens),
        slot.kind == Kind::kSlow ? 2048 : 0);
    ++counts_.started;
  }

  void WaitForSome() {
    polled_.clear();
    for (const Slot& slot : slots_) {
      if (slot.kind != Kind::kSlow) polled_.push_back({slot.client->fd(), POLLIN, 0});
    }
    poll(polled_.data(), polled_.size(), /*timeout=*/5);
  }

  void Turn(Slot& slot) {
    const Clock::time_point now = Clock::now();
    if (slot.kind == Kind::kDisconnecting && now >= slot.leaves) {
      ++counts_.disconnected;
      return Begin(slot);
    }
    if (slot.kind == Kind::kSlow) {
      if (now < slot.next_read) return;
      slot.next_read = now + kSlowPause;
    }
    const int64_t num_events =
        slot.client->Read(slot.kind == Kind::kSlow ? kSlowBytes : size_t{16} << 10);
    if (num_events > 0) Note(slot, num_events, now);
    switch (slot.client->state()) {
      case StreamClient::State::kOpen:
        return;
      case StreamClient::State::kDone:
        ++counts_.done;
        break;
      case StreamClient::State::kRefused:
        ++counts_.refused;
        std::cerr << "refused: " << slot.client->status_line() << "\n";
        break;
      case StreamClient::State::kBroken:
        ++(slot.kind == Kind::kSlow ? counts_.slow_cut : counts_.broken);
    }
    Begin(slot);
  }

  void Note(Slot& slot, int64_t num_events, Clock::time_point now) {
    counts_.num_events += num_events;
    if (slot.kind == Kind::kSteady) {
      if (slot.last_event == slot.begin) {
        counts_.first_event_s.push_back(Seconds(now - slot.begin));
      } else {
        counts_.gap_s.push_back(Seconds(now - slot.last_event));
      }
    }
    slot.last_event = now;
  }

  const Flags& flags_;
  std::mt19937_64 random_;
  std::vector<Slot> slots_;
  std::vector<pollfd> polled_;
  Counts counts_;
};

/// Waits until the server is idle. Returns its /v1/loads.
nlohmann::json AwaitIdle(uint16_t port) {
  nlohmann::json load;
  for (int i = 0; i < 100; ++i) {
    const auto loads = nlohmann::json::parse(HttpGet(port, "/v1/loads"), nullptr, false);
    if (!loads.is_object()) break;
    load = loads["loads"][0];
    if (load["num_total_reqs"] == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return load;
}

int Run(const Flags& flags) {
  const int64_t rss_before = ResidentKiB(flags.pid);
  Load load(flags);
  Counts counts = load.Run();
  const nlohmann::json idle = AwaitIdle(flags.port);
  nlohmann::ordered_json report = {
      {"streams", flags.num_streams},
      {"seconds", flags.seconds},
      {"started", counts.started},
      {"done", counts.done},
      {"disconnected", counts.disconnected},
      {"slow_cut", counts.slow_cut},
      {"refused", counts.refused},
      {"broken", counts.broken},
      {"events_per_s", static_cast<double>(counts.num_events) / flags.seconds},
      {"first_event_p50_ms", 1e3 * Percentile(counts.first_event_s, 50)},
      {"first_event_p99_ms", 1e3 * Percentile(counts.first_event_s, 99)},
      {"event_gap_p50_ms", 1e3 * Percentile(counts.gap_s, 50)},
      {"event_gap_p99_ms", 1e3 * Percentile(counts.gap_s, 99)},
      {"rss_before_kib", rss_before},
      {"rss_after_kib", ResidentKiB(flags.pid)},
      {"reqs_after", idle.value("num_total_reqs", -1)},
      {"used_tokens_after", idle.value("num_used_tokens", -1)}};
  std::cout << report.dump() << "\n";
  return counts.refused + counts.broken == 0 ? 0 : 1;
}

}  // namespace
}  // namespace shortlist

int main(int argc, char** argv) {
  CLI::App app("Load on a running server");
  shortlist::Flags flags;
  app.add_option("--port", flags.port);
  app.add_option("--model", flags.model, "As the server names it");
  app.add_option("--streams", flags.num_streams)->check(CLI::Range(1, 20'000));
  app.add_option("--seconds", flags.seconds)->check(CLI::PositiveNumber);
  app.add_option("--disconnecting", flags.disconnecting)->check(CLI::Range(0.0, 1.0));
  app.add_option("--slow", flags.slow)->check(CLI::Range(0.0, 1.0));
  app.add_option("--prompt-words", flags.num_prompt_words)->check(CLI::Range(1, 10'000));
  app.add_option("--max-tokens", flags.max_tokens)->check(CLI::Range(1, 100'000));
  app.add_option("--pid", flags.pid, "The server's, for its memory");
  app.add_option("--seed", flags.seed);
  CLI11_PARSE(app, argc, argv);
  return shortlist::Run(flags);
}
