#include "tests/router/failing_new.h"

#include <cstdlib>
#include <new>

namespace {

thread_local int64_t countdown = 0;  // 0: disarmed
thread_local bool has_failed = false;

void* Allocate(std::size_t size) {
  if (countdown > 0 && --countdown == 0) {
    has_failed = true;
    throw std::bad_alloc();
  }
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return Allocate(size); }
void* operator new[](std::size_t size) { return Allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace shortlist {

FailingNew::FailingNew(int64_t calls) {
  has_failed = false;
  countdown = calls;
}
FailingNew::~FailingNew() { countdown = 0; }
bool FailingNew::failed() const { return has_failed; }

int64_t NumRandomOps(int64_t count) {
  if (const char* ops = std::getenv("SHORTLIST_RANDOM_OPS")) return std::atoll(ops);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return count / 10;
#else
  return count;
#endif
}

}  // namespace shortlist
