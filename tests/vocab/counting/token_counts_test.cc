#include "vocab/counting/token_counts.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/vocab/test_util.h"
#include "vocab/counting/count_file.h"

namespace shortlist {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kVocabSize = 256;

/// A byte is a token; "!" cannot be encoded.
absl::StatusOr<std::vector<TokenId>> EncodeBytes(std::string_view text) {
  if (text.find('!') != std::string_view::npos) return absl::InvalidArgumentError("no \"!\"");
  std::vector<TokenId> ids;
  for (const char byte : text) ids.push_back(TokenId{static_cast<uint8_t>(byte)});
  return ids;
}

std::vector<Document> RandomDocuments(std::mt19937& random, int count) {
  std::vector<Document> documents(count);
  for (Document& document : documents) {
    for (uint32_t i = random() % 3 == 0 ? 0 : random() % 40; i > 0; --i)
      document.text += static_cast<char>('a' + random() % 6);
    document.continues = random() % 2 == 0;
    if (!document.continues && random() % 4 == 0) document.prompt = "zq";
  }
  documents[0].continues = false;
  return documents;
}

std::map<uint64_t, uint32_t> ToMap(const PairCounts& pairs) {
  std::map<uint64_t, uint32_t> map;
  pairs.ForEach([&](uint64_t key, uint32_t count) { EXPECT_TRUE(map.emplace(key, count).second); });
  return map;
}

TEST(TokenCountsTest, CountsMatchWholeTextsForAnyThreadCount) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const std::vector<Document> documents = RandomDocuments(random, 300);

  std::vector<int64_t> tokens(kVocabSize);
  std::map<uint64_t, uint32_t> pairs;
  int last = -1;  // none
  for (const Document& document : documents) {
    if (!document.continues) last = -1;
    if (!document.prompt.empty()) last = document.prompt.back();
    for (const char byte : document.text) {
      ++tokens[static_cast<uint8_t>(byte)];
      if (last >= 0) ++pairs[PairCounts::KeyOf(TokenId{last}, TokenId{byte})];
      last = byte;
    }
  }
  for (const int num_threads : {1, 3}) {
    ThreadPool pool(num_threads);
    CorpusCounts counts("c", 0, kVocabSize, /*max_pairs=*/1 << 20);
    ASSERT_TRUE(CountDocuments(documents, EncodeBytes, pool, counts).ok());
    EXPECT_EQ(counts.tokens, tokens);
    EXPECT_EQ(ToMap(counts.pairs), pairs);
    EXPECT_EQ(counts.pairs.max_missed(), 0);
  }
}

TEST(TokenCountsTest, RowTokensCountUnchanged) {
  ThreadPool pool(1);
  CorpusCounts counts("c", 0, kVocabSize, 1 << 10);
  const std::vector<Document> good = {{.ids = {7, 255, 7}}};
  ASSERT_TRUE(CountDocuments(good, EncodeBytes, pool, counts).ok());
  EXPECT_EQ(counts.tokens[7], 2);
  EXPECT_EQ(counts.pairs.size(), 2);
  for (const int64_t bad : {-1, 256}) {
    const std::vector<Document> documents = {{.ids = {7, bad}}};
    EXPECT_THAT(std::string(CountDocuments(documents, EncodeBytes, pool, counts).message()),
                HasSubstr("token id " + std::to_string(bad) + " not in [0, 256)"));
  }
}

TEST(TokenCountsTest, ErrorAddsNothing) {
  ThreadPool pool(2);
  CorpusCounts counts("c", 0, kVocabSize, 1 << 10);
  const std::vector<Document> documents = {{.text = "abc"}, {.text = "a!"}, {.text = "b"}};
  EXPECT_THAT(std::string(CountDocuments(documents, EncodeBytes, pool, counts).message()),
              HasSubstr("no \"!\""));
  EXPECT_EQ(counts.num_tokens, 0);
  EXPECT_EQ(counts.pairs.size(), 0);
}

TEST(PairCountsTest, RarestPairsAreEvictedWithKnownError) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  std::map<uint64_t, uint32_t> exact;
  PairCounts pairs(/*max_pairs=*/2000);
  for (int i = 0; i < 200000; ++i) {
    // Few frequent ones, many rare ones.
    const int32_t next = random() % 4 == 0 ? static_cast<int32_t>(random() % 20000)
                                           : static_cast<int32_t>(random() % 50);
    const uint64_t key = PairCounts::KeyOf(TokenId{next % 7}, TokenId{next});
    ++exact[key];
    pairs.Add(key);
  }
  EXPECT_LE(pairs.size(), 2000 + PairCounts::kNumShards);
  EXPECT_GT(pairs.max_missed(), 0);
  const std::map<uint64_t, uint32_t> held = ToMap(pairs);
  for (const auto& [key, count] : exact) {
    const auto found = held.find(key);
    const int64_t counted = found == held.end() ? 0 : found->second;
    EXPECT_LE(counted, count);
    EXPECT_GE(counted + pairs.max_missed(), count);
  }
}

TEST(PairCountsTest, KeysHoldBothTokensAndCountsSaturate) {
  const uint64_t key = PairCounts::KeyOf(TokenId{2147483646}, TokenId{7});
  EXPECT_EQ(Raw(PairCounts::LastOf(key)), 2147483646);
  EXPECT_EQ(Raw(PairCounts::NextOf(key)), 7);
  EXPECT_NE(PairCounts::KeyOf(TokenId{0}, TokenId{0}), 0u);
  PairCounts pairs(100);
  pairs.Add(key, UINT32_MAX - 1);
  pairs.Add(key, 5);
  EXPECT_EQ(ToMap(pairs).at(key), UINT32_MAX);
}

class CountFileTest : public ::testing::Test {
 protected:
  CountFileTest() {
    std::mt19937 random(3);
    ThreadPool pool(1);
    for (const double weight : {0.5, 2.0}) {
      CorpusCounts& corpus =
          counts_.corpora.emplace_back("c" + std::to_string(weight), weight, kVocabSize, 1 << 16);
      EXPECT_TRUE(CountDocuments(RandomDocuments(random, 40), EncodeBytes, pool, corpus).ok());
    }
    counts_.corpora[0].files = {{"a", 7, int64_t{1} << 60}, {"b"}};
    counts_.corpora[0].read_as = "text";
    counts_.corpora[1].open_file = "c";
    counts_.corpora[1].num_documents = 40;
    counts_.corpora[1].documents_crc = 0xFEDCBA98;
    path_ = TempPath("it.counts");
    EXPECT_TRUE(WriteCounts(path_, counts_).ok());
  }

  absl::StatusOr<Counts> Read(const std::string& path) {
    return ReadCounts(path, kVocabSize, "f", 1 << 16);
  }

  Counts counts_{.vocab_size = kVocabSize, .fingerprint = "f"};
  std::string path_;
};

TEST_F(CountFileTest, WrittenCountsAreReadBack) {
  const auto read = Read(path_);
  ASSERT_TRUE(read.ok()) << read.status();
  ASSERT_EQ(read->corpora.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->corpora[i].name, counts_.corpora[i].name);
    EXPECT_EQ(read->corpora[i].weight, counts_.corpora[i].weight);
    EXPECT_EQ(read->corpora[i].tokens, counts_.corpora[i].tokens);
    EXPECT_EQ(read->corpora[i].num_tokens, counts_.corpora[i].num_tokens);
    EXPECT_EQ(ToMap(read->corpora[i].pairs), ToMap(counts_.corpora[i].pairs));
    EXPECT_EQ(read->corpora[i].num_documents, counts_.corpora[i].num_documents);
    EXPECT_EQ(read->corpora[i].open_file, counts_.corpora[i].open_file);
    EXPECT_EQ(read->corpora[i].documents_crc, counts_.corpora[i].documents_crc);
    EXPECT_EQ(read->corpora[i].read_as, counts_.corpora[i].read_as);
    EXPECT_EQ(read->corpora[i].files.size(), counts_.corpora[i].files.size());
  }
  const std::vector<CountedFile>& files = read->corpora[0].files;
  EXPECT_EQ(files[0].path, "a");
  EXPECT_EQ(files[0].bytes, 7);
  EXPECT_EQ(files[0].modified_ns, int64_t{1} << 60);
  EXPECT_EQ(files[1].bytes, -1);  // not known
  EXPECT_EQ(ReadCounts(path_, kVocabSize, "g", 100).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(ReadCounts(path_, 300, "f", 100).ok());
}

TEST_F(CountFileTest, AddedCorporaStaySeparateFromTexts) {
  counts_.added.push_back(counts_.corpora[0]);
  counts_.added[0].added_from = "/of/another.counts";
  ASSERT_TRUE(WriteCounts(path_, counts_).ok());
  const auto read = Read(path_);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->corpora.size(), 2u);
  ASSERT_EQ(read->added.size(), 1u);
  EXPECT_EQ(read->added[0].added_from, "/of/another.counts");
  EXPECT_EQ(read->added[0].tokens, counts_.corpora[0].tokens);
  EXPECT_EQ(ToMap(read->added[0].pairs), ToMap(counts_.corpora[0].pairs));
}

TEST_F(CountFileTest, OverflowingSumsAreRejected) {
  constexpr int64_t kBound = int64_t{1} << 62;
  CorpusCounts& corpus = counts_.corpora[0];
  const auto written = [&](int64_t first, int64_t second) {
    std::ranges::fill(corpus.tokens, 0);
    corpus.tokens[3] = first;
    corpus.tokens[4] = second;
    EXPECT_TRUE(WriteCounts(path_, counts_).ok());
    return Read(path_);
  };
  EXPECT_EQ(written(kBound - 2, 1)->corpora[0].num_tokens, kBound - 1);
  for (const auto& [first, second] :
       {std::pair(kBound - 1, int64_t{1}), std::pair(INT64_MAX, int64_t{1}),
        std::pair(int64_t{1}, INT64_MAX), std::pair(kBound, kBound)}) {
    EXPECT_THAT(std::string(written(first, second).status().message()),
                HasSubstr("not in [1, 2^62)"));
  }
}

TEST(NumTokensTest, SaturatesAcrossFiles) {
  std::vector<CorpusCounts> corpora(3);
  for (CorpusCounts& corpus : corpora) corpus.num_tokens = (int64_t{1} << 62) - 1;
  EXPECT_EQ(NumTokens(std::span(corpora).first(2)), INT64_MAX - 1);
  EXPECT_EQ(NumTokens(corpora), INT64_MAX);
  EXPECT_EQ(NumTokens({}), 0);
}

TEST_F(CountFileTest, OlderFileLacksChecksumOfDocuments) {
  counts_.corpora[1].documents_crc.reset();
  ASSERT_TRUE(WriteCounts(path_, counts_).ok());
  EXPECT_EQ(Read(path_)->corpora[1].documents_crc, std::nullopt);
  EXPECT_EQ(Read(path_)->corpora[0].documents_crc, 0u);  // of none
}

TEST_F(CountFileTest, UnreadableCountsAreNotWritten) {
  const auto expect_refused = [this](absl::StatusCode code, const std::string& words,
                                     int64_t max_bytes) {
    const absl::Status status = WriteCounts(path_, counts_, max_bytes);
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(path_ + ": " + words));
    const auto read = Read(path_);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->corpora.size(), 2u);  // the previous contents
  };
  const auto num_bytes = static_cast<int64_t>(std::filesystem::file_size(path_));
  ASSERT_TRUE(WriteCounts(path_, counts_, num_bytes).ok());
  expect_refused(absl::StatusCode::kResourceExhausted,
                 std::to_string(num_bytes) + " bytes of counts, more than the " +
                     std::to_string(num_bytes - 1) + " that are read",
                 num_bytes - 1);
  counts_.corpora[0].files[1].path = "b\xFFz";
  expect_refused(absl::StatusCode::kInvalidArgument, "b\xEF\xBF\xBDz: not valid UTF-8 at byte 1",
                 kMaxCountFileBytes);
  counts_.corpora[0].files[1].path = "b";
  counts_.corpora.resize(kMaxCountedCorpora + 1);
  expect_refused(absl::StatusCode::kInvalidArgument, "1025 corpora, more than the 1024",
                 kMaxCountFileBytes);
  counts_.corpora.resize(kMaxCountedCorpora);
  EXPECT_TRUE(WriteCounts(path_, counts_).ok());
  EXPECT_TRUE(Read(path_).ok());
}

TEST(AddCrcTest, CrcIsIndependentOfBatches) {
  const std::vector<Document> documents = {
      {.text = "ab"}, {.text = "c", .prompt = "d"}, {.ids = {7, 8}}};
  const uint32_t whole = AddCrc(documents, 0);
  EXPECT_EQ(AddCrc(std::span(documents).subspan(1), AddCrc(std::span(documents).first(1), 0)),
            whole);
  EXPECT_EQ(AddCrc({}, whole), whole);
  for (size_t i = 0; i < documents.size(); ++i) {
    std::vector<Document> other = documents;
    if (other[i].ids.empty()) {
      ++other[i].text[0];
    } else {
      ++other[i].ids[0];
    }
    EXPECT_NE(AddCrc(other, 0), whole) << i;
  }
  std::vector<Document> moved = documents;
  moved[0].text = "a";
  moved[1].text = "bc";
  EXPECT_NE(AddCrc(moved, 0), whole);
}

TEST_F(CountFileTest, DamagedFilesAreRejected) {
  std::ifstream in(path_, std::ios::binary);
  const std::string good(std::istreambuf_iterator<char>(in), {});
  for (size_t size = 0; size < good.size(); size += 37) {
    EXPECT_FALSE(Read(WriteTemp("cut.counts", good.substr(0, size))).ok()) << size;
  }
  for (size_t at = 0; at < good.size(); at += 41) {
    std::string wrong = good;
    wrong[at] ^= 0x10;
    EXPECT_FALSE(Read(WriteTemp("wrong.counts", wrong)).ok()) << at;
  }
  EXPECT_EQ(Read(TempPath("absent")).status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace shortlist
