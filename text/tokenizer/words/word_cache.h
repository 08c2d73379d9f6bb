#ifndef SHORTLIST_TEXT_TOKENIZER_WORDS_WORD_CACHE_H_
#define SHORTLIST_TEXT_TOKENIZER_WORDS_WORD_CACHE_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>
#include <vector>

#include "base/ids.h"

namespace shortlist {

/// Short words with their ids, in a table of fixed size. A new word replaces the word in its entry.
/// Used by one thread at a time.
class WordCache {
 public:
  static constexpr size_t kMaxWordBytes = 32;
  static constexpr size_t kMaxIds = 6;

  struct alignas(64) Entry {
    char word[kMaxWordBytes] = {};
    TokenId ids[kMaxIds] = {};
    uint8_t num_bytes = 0;  // 0: the entry is empty, since no word is
    uint8_t num_ids = 0;

    bool Holds(std::string_view wanted) const {
      return num_bytes == wanted.size() && std::memcmp(word, wanted.data(), wanted.size()) == 0;
    }
    /// Stores nothing if there are more than kMaxIds ids.
    void Store(std::string_view new_word, const TokenId* new_ids, size_t count) {
      if (count > kMaxIds) return;
      std::memcpy(word, new_word.data(), new_word.size());
      std::copy(new_ids, new_ids + count, ids);
      num_bytes = static_cast<uint8_t>(new_word.size());
      num_ids = static_cast<uint8_t>(count);
    }
  };

  WordCache() : entries_(kNumEntries) {}

  /// Returns the only entry that may hold `word`, which has 1 to kMaxWordBytes bytes.
  Entry& Find(std::string_view word) { return entries_[Hash(word) >> (64 - kLogEntries)]; }

 private:
  static constexpr int kLogEntries = 15;
  static constexpr size_t kNumEntries = size_t{1} << kLogEntries;  // 2 MiB

  static uint64_t Hash(std::string_view word) {
    uint64_t hash = word.size();
    while (word.size() >= 8) {
      hash = Mix(hash, word, 8);
      word.remove_prefix(8);
    }
    return Mix(hash, word, word.size()) * 0x9E3779B97F4A7C15;
  }
  static uint64_t Mix(uint64_t hash, std::string_view bytes, size_t count) {
    uint64_t block = 0;
    std::memcpy(&block, bytes.data(), count);
    hash = (hash ^ block) * 0x9E3779B97F4A7C15;
    return hash ^ hash >> 32;
  }

  std::vector<Entry> entries_;
};

/// Lends objects to threads without a lock; each object belongs to one thread at a time. Keeps at
/// most kKept objects and makes a new one if none is free.
template <typename T>
class LendingPool {
 public:
  LendingPool() = default;
  ~LendingPool() {
    for (std::atomic<T*>& slot : slots_) delete slot.load();
  }
  LendingPool(const LendingPool&) = delete;
  LendingPool& operator=(const LendingPool&) = delete;

  class Loan {
   public:
    Loan(LendingPool& pool, std::unique_ptr<T> object) : pool_(pool), object_(std::move(object)) {}
    ~Loan() { pool_.TakeBack(std::move(object_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    T& operator*() const { return *object_; }

   private:
    LendingPool& pool_;
    std::unique_ptr<T> object_;
  };

  Loan Borrow() {
    const size_t first = FirstSlot();
    for (size_t i = 0; i < kKept; ++i) {
      std::atomic<T*>& slot = slots_[(first + i) % kKept];
      if (slot.load(std::memory_order_relaxed) == nullptr) continue;
      if (T* object = slot.exchange(nullptr, std::memory_order_acquire)) {
        return Loan(*this, std::unique_ptr<T>(object));
      }
    }
    return Loan(*this, std::make_unique<T>());
  }

 private:
  static constexpr size_t kKept = 16;

  static size_t FirstSlot() {
    return std::hash<std::thread::id>()(std::this_thread::get_id()) % kKept;
  }

  void TakeBack(std::unique_ptr<T> object) {
    const size_t first = FirstSlot();
    for (size_t i = 0; i < kKept; ++i) {
      T* empty = nullptr;
      if (slots_[(first + i) % kKept].compare_exchange_strong(empty, object.get(),
                                                              std::memory_order_release)) {
        object.release();
        return;
      }
    }
  }

  std::array<std::atomic<T*>, kKept> slots_{};
};

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_WORDS_WORD_CACHE_H_
