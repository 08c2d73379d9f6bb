#include "tests/kernels/cuda_emulator.h"

#include <sanitizer/asan_interface.h>

#include <array>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "base/dtype.h"

// Saves the registers that a function must keep, and the stack pointer, and takes up another stack.
// swapcontext would do, but for two system calls a switch.
extern "C" void shortlist_switch_stack(void** save, void* load);
asm(R"(
.text
.globl shortlist_switch_stack
.type shortlist_switch_stack, @function
shortlist_switch_stack:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size shortlist_switch_stack, .-shortlist_switch_stack
)");

namespace shortlist {
namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr int kLanes = 32;

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "emulated kernel: %s\n", what);
  std::abort();
}

constexpr size_t kPieceBytes = 16;

struct Copy {
  void* to;
  const void* from;  // null: zeros

  void Run() const {
    from == nullptr ? std::memset(to, 0, kPieceBytes) : std::memcpy(to, from, kPieceBytes);
  }
};

void CheckAligned(const void* pointer) {
  if (reinterpret_cast<uintptr_t>(pointer) % kPieceBytes != 0) {
    Fail("a load or copy is not 16-byte aligned");
  }
}

struct ThreadState {
  void* stack_pointer = nullptr;
  bool finished = false;
  std::vector<std::vector<Copy>> groups;  // committed, oldest first
  std::vector<Copy> open_group;
};

/// A rendezvous of the lanes of a warp. Two buffers, since a lane may be one operation ahead.
using Words = std::array<uint32_t, 6>;
struct WarpState {
  const char* operation = nullptr;
  int num_arrived = 0;
  int generation = 0;
  std::array<Words, kLanes> values[2];
};

struct BlockState {
  std::mt19937 random;
  int block = 0;
  int current = 0;
  std::vector<ThreadState> threads;
  std::vector<WarpState> warps;
  int num_at_barrier = 0;
  std::vector<int> ready;
  void* scheduler_stack = nullptr;
  const std::function<void(uint8_t*)>* body = nullptr;
  uint8_t* shared = nullptr;

  ThreadState& thread() { return threads[current]; }
};

BlockState* block_state = nullptr;

/// Leaves the thread until the scheduler picks it from `ready`.
void Pause() {
  shortlist_switch_stack(&block_state->thread().stack_pointer, block_state->scheduler_stack);
}

void ThreadMain() {
  (*block_state->body)(block_state->shared);
  block_state->thread().finished = true;
  Pause();
  Fail("a finished thread went on");
}

void StartThread(int index) {
  static std::vector<std::unique_ptr<char[]>> stacks;
  while (static_cast<int>(stacks.size()) <= index) {
    stacks.push_back(std::make_unique_for_overwrite<char[]>(kStackBytes));
  }
  // The last thread never left its frames.
  ASAN_UNPOISON_MEMORY_REGION(stacks[index].get(), kStackBytes);
  ThreadState& thread = block_state->threads[index];
  const auto end = reinterpret_cast<uintptr_t>(stacks[index].get() + kStackBytes) / 16 * 16;
  auto* top = reinterpret_cast<uintptr_t*>(end);
  *--top = 0;  // where ThreadMain would return to
  *--top = reinterpret_cast<uintptr_t>(&ThreadMain);
  for (int i = 0; i < 6; ++i) *--top = 0;
  thread.stack_pointer = top;
  thread.finished = false;
}

void RunBlock() {
  BlockState& state = *block_state;
  for (int t = 0; t < static_cast<int>(state.threads.size()); ++t) {
    StartThread(t);
    state.ready.push_back(t);
  }
  size_t num_finished = 0;
  while (num_finished < state.threads.size()) {
    if (state.ready.empty()) Fail("threads wait for each other for ever");
    std::swap(state.ready[state.random() % state.ready.size()], state.ready.back());
    state.current = state.ready.back();
    state.ready.pop_back();
    shortlist_switch_stack(&state.scheduler_stack, state.thread().stack_pointer);
    if (!state.thread().finished) continue;
    ++num_finished;
    for (const auto& group : state.thread().groups) {
      if (!group.empty()) Fail("a thread ended without waiting for its copies");
    }
    if (!state.thread().open_group.empty()) Fail("a thread left copies uncommitted");
    state.thread().groups.clear();
  }
}

/// Returns the values of all lanes of the warp for the same operation.
const std::array<Words, kLanes>& Exchange(const char* operation, const Words& value) {
  const int thread = block_state->current;
  WarpState& warp = block_state->warps[thread / kLanes];
  if (warp.num_arrived == 0) warp.operation = operation;
  if (warp.operation != operation) Fail("the lanes of a warp disagree about the operation");
  const int buffer = warp.generation % 2;
  warp.values[buffer][thread % kLanes] = value;
  if (++warp.num_arrived == kLanes) {
    warp.num_arrived = 0;
    ++warp.generation;
    for (int lane = 0; lane < kLanes; ++lane) {
      const int other = thread / kLanes * kLanes + lane;
      if (other != thread) block_state->ready.push_back(other);
    }
  } else {
    Pause();
  }
  return warp.values[buffer];
}

/// One lane's four sums of `product(row_words, token_words, k)` for k in [0, depth). A word holds
/// `per_word` values of K; the words of K are distributed over the lanes in turn.
template <typename Sum, typename Product>
void Multiply(const char* operation, Sum (&sums)[4], const Words& own, int per_word,
              Product&& product) {
  const auto& lanes = Exchange(operation, own);
  const int lane = Emulated::Lane();
  const int quad_width = 4 * per_word;  // of K, that the quad's words of one register cover
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + (i / 2) * 8;
    const int token = lane % 4 * 2 + i % 2;
    for (int k = 0; k < 2 * quad_width; ++k) {
      const int lane_of_k = k % quad_width / per_word;
      const uint32_t a = lanes[row % 8 * 4 + lane_of_k][k / quad_width * 2 + row / 8];
      const uint32_t b = lanes[token * 4 + lane_of_k][4 + k / quad_width];
      sums[i] += product(a, b, k % per_word);
    }
  }
}

Words ToWords(uint64_t value) {
  return {static_cast<uint32_t>(value), static_cast<uint32_t>(value >> 32)};
}
uint64_t FromWords(const Words& words) { return words[0] | uint64_t{words[1]} << 32; }
uint16_t Half(uint32_t word, int which) { return static_cast<uint16_t>(word >> (16 * which)); }
int8_t Byte(uint32_t word, int which) { return static_cast<int8_t>(word >> (8 * which)); }

}  // namespace

void Emulated::Launch(int num_blocks, int num_threads, int64_t shared_bytes, uint32_t seed,
                      const std::function<void(uint8_t*)>& body) {
  // Allocated to its exact size, so that AddressSanitizer sees every byte past the end.
  constexpr std::align_val_t kAlign{128};
  auto* shared = static_cast<uint8_t*>(::operator new(static_cast<size_t>(shared_bytes), kAlign));
  BlockState state;
  state.random.seed(seed);
  state.threads.resize(num_threads);
  state.body = &body;
  state.shared = shared;
  block_state = &state;
  for (state.block = 0; state.block < num_blocks; ++state.block) {
    state.warps.assign(num_threads / kLanes, {});
    std::memset(shared, 0xff, static_cast<size_t>(shared_bytes));
    RunBlock();
  }
  block_state = nullptr;
  ::operator delete(shared, kAlign);
}

int Emulated::Thread() { return block_state->current; }
int Emulated::Block() { return block_state->block; }

void Emulated::SyncBlock() {
  BlockState& state = *block_state;
  const int num_threads = static_cast<int>(state.threads.size());
  if (++state.num_at_barrier < num_threads) return Pause();
  state.num_at_barrier = 0;
  for (int t = 0; t < num_threads; ++t) {
    if (t != state.current) state.ready.push_back(t);
  }
}

void Emulated::SyncWarp() { Exchange("sync", {}); }

uint64_t Emulated::Shuffle(uint64_t value, int lane) {
  return FromWords(Exchange("shuffle", ToWords(value))[lane]);
}
float Emulated::Shuffle(float value, int lane) {
  return std::bit_cast<float>(Exchange("shuffle", {std::bit_cast<uint32_t>(value)})[lane][0]);
}
uint64_t Emulated::ShuffleUp(uint64_t value, int distance) {
  const auto& lanes = Exchange("shuffle up", ToWords(value));
  return Lane() < distance ? value : FromWords(lanes[Lane() - distance]);
}
float Emulated::ShuffleUp(float value, int distance) {
  const auto& lanes = Exchange("shuffle up", {std::bit_cast<uint32_t>(value)});
  return Lane() < distance ? value : std::bit_cast<float>(lanes[Lane() - distance][0]);
}
uint64_t Emulated::ShuffleXor(uint64_t value, int distance) {
  return FromWords(Exchange("shuffle xor", ToWords(value))[Lane() ^ distance]);
}
float Emulated::ShuffleXor(float value, int distance) {
  const auto& lanes = Exchange("shuffle xor", {std::bit_cast<uint32_t>(value)});
  return std::bit_cast<float>(lanes[Lane() ^ distance][0]);
}

uint32_t Emulated::Ballot(bool value) {
  const auto& lanes = Exchange("ballot", {value ? 1u : 0u});
  uint32_t votes = 0;
  for (int lane = 0; lane < kLanes; ++lane) votes |= lanes[lane][0] << lane;
  return votes;
}

int Emulated::FirstLane(uint32_t lanes) { return std::countr_zero(lanes); }

uint32_t Emulated::WarpMax(uint32_t value) {
  const auto& lanes = Exchange("max", {value});
  uint32_t most = 0;
  for (const Words& words : lanes) most = words[0] > most ? words[0] : most;
  return most;
}

void Emulated::LoadOnce16(const void* global, uint32_t (&words)[4]) {
  CheckAligned(global);
  std::memcpy(words, global, sizeof(words));
}

void Emulated::CopyAsync16(void* shared, const void* global, bool inside) {
  CheckAligned(shared);
  CheckAligned(global);
  const Copy copy{shared, inside ? global : nullptr};
  if (block_state->random() % 2 == 0) return copy.Run();
  block_state->thread().open_group.push_back(copy);
}

void Emulated::CommitCopies() {
  ThreadState& thread = block_state->thread();
  thread.groups.push_back(std::move(thread.open_group));
  thread.open_group.clear();
}

void Emulated::WaitCopies(int num_pending) {
  auto& groups = block_state->thread().groups;
  const int num_done = static_cast<int>(groups.size()) - num_pending;
  for (int i = 0; i < num_done; ++i) {
    for (const Copy& copy : groups[i]) copy.Run();
  }
  if (num_done > 0) groups.erase(groups.begin(), groups.begin() + num_done);
}

void Emulated::MultiplyBf16(float (&sums)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                            uint32_t b0, uint32_t b1) {
  Multiply("bf16", sums, {a0, a1, a2, a3, b0, b1}, 2, [](uint32_t a, uint32_t b, int i) {
    return Bf16ToFloat(Half(a, i)) * Bf16ToFloat(Half(b, i));
  });
}

void Emulated::MultiplyF16(float (&sums)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                           uint32_t b0, uint32_t b1) {
  Multiply("f16", sums, {a0, a1, a2, a3, b0, b1}, 2, [](uint32_t a, uint32_t b, int i) {
    return F16ToFloat(Half(a, i)) * F16ToFloat(Half(b, i));
  });
}

void Emulated::MultiplyInt8(int32_t (&sums)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                            uint32_t b0, uint32_t b1) {
  Multiply("int8", sums, {a0, a1, a2, a3, b0, b1}, 4,
           [](uint32_t a, uint32_t b, int i) { return Byte(a, i) * Byte(b, i); });
}

uint16_t Emulated::Bf16Bits(float value) { return FloatToBf16(value); }
uint16_t Emulated::F16Bits(float value) { return FloatToF16(value); }
float Emulated::F16Value(uint16_t bits) { return F16ToFloat(bits); }

}  // namespace shortlist
