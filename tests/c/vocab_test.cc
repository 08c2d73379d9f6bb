#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "c/shortlist.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

extern "C" const char* VersionByPlainC(void);

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kVocabSize = 50;

/// A vocabulary of the base {3, 5, 9} with room for two more.
shortlist_vocab* MakeVocab(int64_t dynamic_capacity = 2) {
  const std::vector<int32_t> base = {9, 3, 5};
  shortlist_vocab* vocab = nullptr;
  EXPECT_EQ(shortlist_vocab_create(base.data(), 3, kVocabSize, dynamic_capacity, &vocab),
            SHORTLIST_OK);
  return vocab;
}

std::vector<int32_t> RowsOf(const shortlist_vocab* vocab) {
  shortlist_snapshot* snapshot = nullptr;
  EXPECT_EQ(shortlist_vocab_snapshot(vocab, &snapshot), SHORTLIST_OK);
  const int32_t* ids = nullptr;
  int64_t num_rows = 0;
  EXPECT_EQ(shortlist_snapshot_rows(snapshot, nullptr, &ids, &num_rows), SHORTLIST_OK);
  std::vector<int32_t> rows(ids, ids + num_rows);
  EXPECT_EQ(shortlist_snapshot_free(snapshot), SHORTLIST_OK);
  return rows;
}

void ExpectError(shortlist_status got, shortlist_status want, const std::string& text) {
  EXPECT_EQ(got, want);
  EXPECT_THAT(shortlist_last_error(), HasSubstr(text));
}

TEST(CVocabTest, PlainCReadsVersion) {
  EXPECT_STREQ(VersionByPlainC(), shortlist_version());
  EXPECT_THAT(shortlist_version(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
}

TEST(CVocabTest, DynamicPartLearnsEscapes) {
  shortlist_vocab* vocab = MakeVocab();
  EXPECT_THAT(RowsOf(vocab), ElementsAre(3, 5, 9));
  const std::vector<int32_t> emitted = {5, 40, 41}, drafted = {5, 9};
  ASSERT_EQ(shortlist_vocab_observe(vocab, emitted.data(), 3, drafted.data(), 2, nullptr),
            SHORTLIST_OK);
  EXPECT_THAT(RowsOf(vocab), ElementsAre(3, 5, 9, 40, 41));
  const int32_t more = 42;
  ASSERT_EQ(shortlist_vocab_add(vocab, &more, 1), SHORTLIST_OK);
  shortlist_vocab_counts counts;
  ASSERT_EQ(shortlist_vocab_stats(vocab, &counts), SHORTLIST_OK);
  EXPECT_EQ(counts.num_emitted, 3);
  EXPECT_EQ(counts.num_covered, 1);
  EXPECT_EQ(counts.num_drafted, 2);
  EXPECT_EQ(counts.num_unmapped, 0);
  EXPECT_EQ(counts.num_evicted, 1);
  EXPECT_EQ(counts.base_size, 3);
  EXPECT_EQ(counts.dynamic_size, 2);
  EXPECT_EQ(counts.dynamic_capacity, 2);
  EXPECT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
}

TEST(CVocabTest, SnapshotOutlivesItsVocabulary) {
  shortlist_vocab* vocab = MakeVocab();
  shortlist_snapshot* snapshot = nullptr;
  ASSERT_EQ(shortlist_vocab_snapshot(vocab, &snapshot), SHORTLIST_OK);
  const int32_t more = 42;
  ASSERT_EQ(shortlist_vocab_add(vocab, &more, 1), SHORTLIST_OK);
  ASSERT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
  int32_t token = 0;
  int64_t row = 0;
  EXPECT_EQ(shortlist_snapshot_token(snapshot, 2, &token), SHORTLIST_OK);
  EXPECT_EQ(token, 9);
  EXPECT_EQ(shortlist_snapshot_row(snapshot, 5, &row), SHORTLIST_OK);
  EXPECT_EQ(row, 1);
  EXPECT_EQ(shortlist_snapshot_row(snapshot, 42, &row), SHORTLIST_OK);
  EXPECT_EQ(row, -1);
  ExpectError(shortlist_snapshot_token(snapshot, 3, &token), SHORTLIST_OUT_OF_RANGE,
              "row 3 not in [0, 3)");
  ExpectError(shortlist_snapshot_row(snapshot, 50, &row), SHORTLIST_OUT_OF_RANGE,
              "token 50 not in [0, 50)");
  EXPECT_EQ(shortlist_snapshot_free(snapshot), SHORTLIST_OK);
}

TEST(CVocabTest, TokenMapsOfOtherEnginesAreRead) {
  const std::string path = testing::TempDir() + "c_vocab_test.npy";
  std::string header = "{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }";
  header.resize(117, ' ');
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY\x01" << '\0' << "\x76" << '\0' << header << '\n';
  for (const int32_t id : {7, 3, 11}) file.write(reinterpret_cast<const char*>(&id), sizeof id);
  file.close();
  shortlist_vocab* vocab = nullptr;
  ASSERT_EQ(shortlist_vocab_open(path.c_str(), kVocabSize, nullptr, 0, &vocab), SHORTLIST_OK);
  EXPECT_THAT(RowsOf(vocab), ElementsAre(3, 7, 11));
  EXPECT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
}

TEST(CVocabTest, ListIsReadWithSuccessors) {
  const std::string path = testing::TempDir() + "c_vocab_test.txt";
  std::ofstream(path) << "7\n3\n11\n";
  shortlist_vocab* vocab = nullptr;
  ASSERT_EQ(shortlist_vocab_open(path.c_str(), kVocabSize, nullptr, 0, &vocab), SHORTLIST_OK);
  EXPECT_THAT(RowsOf(vocab), ElementsAre(3, 7, 11));
  EXPECT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
  ASSERT_EQ(shortlist_vocab_open("ratio:0.1", kVocabSize, nullptr, 0, &vocab), SHORTLIST_OK);
  EXPECT_THAT(RowsOf(vocab), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
  ASSERT_EQ(shortlist_vocab_open("full", kVocabSize, nullptr, 0, &vocab), SHORTLIST_OK);
  EXPECT_THAT(RowsOf(vocab), ElementsAre());
  EXPECT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
  ExpectError(shortlist_vocab_open(path.c_str(), /*vocab_size=*/10, nullptr, 0, &vocab),
              SHORTLIST_INVALID_ARGUMENT, "11");
  ExpectError(shortlist_vocab_open("/no/such/list", kVocabSize, nullptr, 0, &vocab),
              SHORTLIST_NOT_FOUND, "/no/such/list");
}

TEST(CVocabTest, ListOfOtherTokenizerIsRejected) {
  const char* const list = "vocab_lists/demo.vocab.json";
  shortlist_vocab* vocab = nullptr;
  ASSERT_EQ(shortlist_vocab_open(list, /*vocab_size=*/16384, "fnv1a64:e34869d7cf8fd154", 0, &vocab),
            SHORTLIST_OK);
  EXPECT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
  ExpectError(shortlist_vocab_open(list, 16384, "fnv1a64:0000000000000000", 0, &vocab),
              SHORTLIST_FAILED_PRECONDITION, "fnv1a64:0000000000000000");
}

TEST(CVocabTest, ListOpensAtPaddedModelSize) {
  const std::string list = "vocab_lists/qwen.vocab.json.xz";  // of 151,646 ids
  constexpr int64_t kRows = 151936;
  for (const char* const choice : {":top=4096", ":ratio=0.05", "", ":top=4096:successors=9"}) {
    for (const char* const fingerprint : {"fnv1a64:5a25ec3716348dc5", ""}) {
      shortlist_vocab* vocab = nullptr;
      ASSERT_EQ(shortlist_vocab_open((list + choice).c_str(), kRows,
                                     *fingerprint == '\0' ? nullptr : fingerprint,
                                     /*dynamic_capacity=*/8, &vocab),
                SHORTLIST_OK)
          << shortlist_last_error();
      const std::vector<int32_t> emitted = {151700, kRows - 1};
      EXPECT_EQ(shortlist_vocab_observe(vocab, emitted.data(), 2, nullptr, 0, nullptr),
                SHORTLIST_OK);
      const std::vector<int32_t> rows = RowsOf(vocab);
      EXPECT_EQ(std::vector<int32_t>(rows.end() - 2, rows.end()), emitted);
      const int32_t beyond = kRows;
      ExpectError(shortlist_vocab_observe(vocab, &beyond, 1, nullptr, 0, nullptr),
                  SHORTLIST_OUT_OF_RANGE, "token id 151936 at index 0 not in [0, 151936)");
      EXPECT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
    }
  }
  shortlist_vocab* vocab = nullptr;
  ExpectError(shortlist_vocab_open(list.c_str(), 50257, nullptr, 0, &vocab),
              SHORTLIST_FAILED_PRECONDITION, "vocab_size 151646 is not the target's 50257");
}

TEST(CVocabTest, BadArgumentsAreNamedAndChangeNothing) {
  shortlist_vocab* vocab = nullptr;
  const std::vector<int32_t> twice = {1, 2, 1}, far = {1, 50};
  ExpectError(shortlist_vocab_create(twice.data(), 3, kVocabSize, 0, &vocab),
              SHORTLIST_INVALID_ARGUMENT, "1");
  ExpectError(shortlist_vocab_create(far.data(), 2, kVocabSize, 0, &vocab),
              SHORTLIST_INVALID_ARGUMENT, "50");
  ExpectError(shortlist_vocab_create(nullptr, 2, kVocabSize, 0, &vocab), SHORTLIST_INVALID_ARGUMENT,
              "base_ids is null");
  ExpectError(shortlist_vocab_create(far.data(), -1, kVocabSize, 0, &vocab),
              SHORTLIST_INVALID_ARGUMENT, "count -1");
  ExpectError(shortlist_vocab_create(far.data(), 1, INT64_MAX, 0, &vocab),
              SHORTLIST_INVALID_ARGUMENT, "vocab_size 9223372036854775807");
  ExpectError(shortlist_vocab_create(far.data(), 1, kVocabSize, 51, &vocab),
              SHORTLIST_INVALID_ARGUMENT, "51");
  ExpectError(shortlist_vocab_create(far.data(), 1, kVocabSize, 0, nullptr),
              SHORTLIST_INVALID_ARGUMENT, "vocab is null");
  ExpectError(shortlist_vocab_open(nullptr, kVocabSize, nullptr, 0, &vocab),
              SHORTLIST_INVALID_ARGUMENT, "choice is null");
  EXPECT_EQ(vocab, nullptr);

  vocab = MakeVocab();
  const std::vector<int32_t> bad = {7, -1};
  ExpectError(shortlist_vocab_add(vocab, bad.data(), 2), SHORTLIST_OUT_OF_RANGE, "-1");
  EXPECT_THAT(RowsOf(vocab), ElementsAre(3, 5, 9));
  EXPECT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
}

TEST(CVocabTest, FreedAndWrongHandlesAreErrors) {
  shortlist_vocab* vocab = MakeVocab();
  ASSERT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
  ExpectError(shortlist_vocab_free(vocab), SHORTLIST_INVALID_ARGUMENT, "was freed");
  shortlist_vocab* const other = MakeVocab();  // does not get the handle that was freed
  shortlist_snapshot* snapshot = nullptr;
  ExpectError(shortlist_vocab_snapshot(vocab, &snapshot), SHORTLIST_INVALID_ARGUMENT, "was freed");
  ExpectError(shortlist_vocab_add(reinterpret_cast<shortlist_vocab*>(&vocab), nullptr, 0),
              SHORTLIST_INVALID_ARGUMENT, "no vocabulary");
  ExpectError(shortlist_snapshot_rows(reinterpret_cast<shortlist_snapshot*>(other), nullptr,
                                      nullptr, nullptr),
              SHORTLIST_INVALID_ARGUMENT, "no snapshot");
  ExpectError(shortlist_vocab_stats(nullptr, nullptr), SHORTLIST_INVALID_ARGUMENT,
              "vocabulary is null");
  EXPECT_EQ(shortlist_vocab_free(other), SHORTLIST_OK);
  EXPECT_EQ(shortlist_vocab_free(nullptr), SHORTLIST_OK);
}

TEST(CVocabTest, UnmappedDraftIsCounted) {
  shortlist_vocab* vocab = MakeVocab();
  const int32_t emitted = 5, drafted = 2;  // a row that was taken for a token
  ASSERT_EQ(shortlist_vocab_observe(vocab, &emitted, 1, &drafted, 1, nullptr), SHORTLIST_OK);
  shortlist_vocab_counts counts;
  ASSERT_EQ(shortlist_vocab_stats(vocab, &counts), SHORTLIST_OK);
  EXPECT_EQ(counts.num_unmapped, 1);
  EXPECT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
}

TEST(CVocabTest, ConcurrentAddReadAndFree) {
  shortlist_vocab* vocab = MakeVocab(/*dynamic_capacity=*/20);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int32_t i = 0; i < 300; ++i) {
        const int32_t id = (13 * i + t) % static_cast<int32_t>(kVocabSize);
        shortlist_vocab_add(vocab, &id, 1);
        shortlist_snapshot* snapshot = nullptr;
        if (shortlist_vocab_snapshot(vocab, &snapshot) != SHORTLIST_OK) continue;
        int32_t token = 0;
        EXPECT_EQ(shortlist_snapshot_token(snapshot, 0, &token), SHORTLIST_OK);
        EXPECT_EQ(token, 3);
        EXPECT_EQ(shortlist_snapshot_free(snapshot), SHORTLIST_OK);
        if (t == 0 && i == 200) {
          EXPECT_EQ(shortlist_vocab_free(vocab), SHORTLIST_OK);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
