// Compares the models with the simplest correct code.

#include <algorithm>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/text/test_util.h"
#include "text/tokenizer/words/bpe_model.h"
#include "text/tokenizer/words/unigram_model.h"
#include "text/tokenizer/words/word_piece_model.h"

namespace shortlist {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::vector<int> Encode(const WordModel& model, const std::string& word) {
  EncodeBudget budget(word.size(), /*max_ids=*/0, /*max_tokens=*/0);
  EncodeScratch scratch;
  scratch.budget = &budget;
  std::vector<TokenId> ids;
  const absl::Status status = model.Encode(word, scratch, ids);
  EXPECT_TRUE(status.ok()) << status;
  std::vector<int> raw;
  for (const TokenId id : ids) raw.push_back(Raw(id));
  return raw;
}

Vocabulary MakeVocabulary(const std::vector<std::string>& tokens) {
  Vocabulary::Entries entries;
  for (size_t i = 0; i < tokens.size(); ++i) entries.emplace_back(tokens[i], i);
  return *Vocabulary::Create(std::move(entries));
}

/// Random merges over the letters a to d, and what they need of a vocabulary.
struct RandomBpe {
  std::vector<std::string> tokens = {"a", "b", "c", "d"};
  BpeModel::Merges merges;

  explicit RandomBpe(std::mt19937& random) {
    while (tokens.size() < 40) {
      const std::string left = tokens[random() % tokens.size()];
      const std::string right = tokens[random() % tokens.size()];
      if (left.size() + right.size() > 12) continue;
      merges.emplace_back(left, right);
      if (std::find(tokens.begin(), tokens.end(), left + right) == tokens.end()) {
        tokens.push_back(left + right);
      }
    }
    std::shuffle(merges.begin(), merges.end(), random);
  }

  /// Merges the leftmost pair of the best rank until there is none.
  std::vector<std::string> Apply(const std::string& word) const {
    std::map<std::pair<std::string, std::string>, size_t> rank_of;
    for (size_t rank = 0; rank < merges.size(); ++rank) rank_of[merges[rank]] = rank;
    std::vector<std::string> parts;
    for (const char c : word) parts.emplace_back(1, c);
    while (true) {
      size_t best_rank = merges.size(), best = 0;
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto found = rank_of.find({parts[i], parts[i + 1]});
        if (found != rank_of.end() && found->second < best_rank) {
          best_rank = found->second;
          best = i;
        }
      }
      if (best_rank == merges.size()) return parts;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
    }
  }
};

std::string RandomWord(std::mt19937& random, size_t max_size) {
  std::string word;
  for (size_t size = 1 + random() % max_size; size > 0; --size) {
    word.push_back(static_cast<char>('a' + random() % 4));
  }
  return word;
}

TEST(BpeModelTest, MergesLikePlainLoop) {
  const uint32_t seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    const RandomBpe bpe(random);
    const Vocabulary vocabulary = MakeVocabulary(bpe.tokens);
    const auto model = BpeModel::Create(vocabulary, bpe.merges, {});
    ASSERT_TRUE(model.ok()) << model.status();
    for (int i = 0; i < 40; ++i) {
      const std::string word = RandomWord(random, i % 2 == 0 ? 12 : 150);
      std::vector<int> expected;
      for (const std::string& part : bpe.Apply(word)) expected.push_back(*vocabulary.Find(part));
      ASSERT_THAT(Encode(**model, word), ElementsAreArray(expected)) << word;
    }
  }
}

TEST(BpeModelTest, RanksMergeIfResultIsToken) {
  std::mt19937 random(/*seed=*/3);
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* token : {"ab", "bc", "cd", "abc", "abcd", "dd", "cab", "ddd", "bcdd"}) {
    tokens.emplace_back(token);
  }
  const Vocabulary vocabulary = MakeVocabulary(tokens);
  const auto model = BpeModel::CreateFromRanks(vocabulary);
  ASSERT_TRUE(model.ok()) << model.status();
  for (int round = 0; round < 500; ++round) {
    const std::string word = RandomWord(random, 60);
    std::vector<std::string> parts;
    for (const char c : word) parts.emplace_back(1, c);
    while (!vocabulary.Find(word).has_value()) {
      int best_rank = std::numeric_limits<int>::max();
      size_t best = 0;
      for (size_t i = 0; i + 1 < parts.size(); ++i) {
        const auto rank = vocabulary.Find(parts[i] + parts[i + 1]);
        if (rank.has_value() && *rank < best_rank) {
          best_rank = *rank;
          best = i;
        }
      }
      if (best_rank == std::numeric_limits<int>::max()) break;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
    }
    if (vocabulary.Find(word).has_value()) parts = {word};
    std::vector<int> expected;
    for (const std::string& part : parts) expected.push_back(*vocabulary.Find(part));
    ASSERT_THAT(Encode(**model, word), ElementsAreArray(expected)) << word;
  }
  const Vocabulary few = MakeVocabulary({"a"});
  EXPECT_THAT(std::string(BpeModel::CreateFromRanks(few).status().message()),
              HasSubstr("byte 0x00 has no rank"));
}

TEST(BpeModelTest, LongWordsTakeLinearTime) {
  const Vocabulary vocabulary = MakeVocabulary({"a", "aa", "aaaa"});
  const auto model = BpeModel::Create(vocabulary, {{"a", "a"}, {"aa", "aa"}}, {});
  ASSERT_TRUE(model.ok());
  EXPECT_EQ(Encode(**model, std::string(1'000'000, 'a')).size(), 250'000u);
}

TEST(BpeModelTest, RejectsMergesWithoutTokenOrPart) {
  const Vocabulary vocabulary = MakeVocabulary({"a", "b"});
  const auto error = [&](const BpeModel::Merges& merges, BpeModel::Options options) {
    return std::string(BpeModel::Create(vocabulary, merges, options).status().message());
  };
  EXPECT_THAT(error({{"a", "b"}}, {}), HasSubstr("merge 0 (\"a\", \"b\"): token \"ab\" is not in"));
  EXPECT_THAT(error({{"x", "b"}}, {}), HasSubstr("token \"x\" is not in the vocabulary"));
  EXPECT_THAT(error({{"a", "b"}}, {.continuing_subword_prefix = "##"}), HasSubstr("shorter than"));
}

TEST(BpeModelTest, MergesThatReturnTheirPartEnd) {
  // The second part is the prefix alone, so the merge gives its own first part.
  const Vocabulary vocabulary = MakeVocabulary({"a", "#a", "#"});
  const auto model = BpeModel::Create(vocabulary, {{"a", "#"}}, {.continuing_subword_prefix = "#"});
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(Encode(**model, std::string(100, 'a')).size(), 100u);
}

/// The best score over all ways to cut `word`; unknown letters go one by one.
double BestScore(const std::string& word, const Vocabulary& vocabulary,
                 const std::vector<double>& scores, double unk_score) {
  std::vector<double> best(word.size() + 1, -1e18);
  best[0] = 0;
  for (size_t end = 1; end <= word.size(); ++end) {
    for (size_t begin = 0; begin < end; ++begin) {
      const auto id = vocabulary.Find(word.substr(begin, end - begin));
      if (id.has_value()) best[end] = std::max(best[end], best[begin] + scores[*id]);
      if (end - begin == 1 && !id.has_value()) {
        best[end] = std::max(best[end], best[begin] + unk_score);
      }
    }
  }
  return best[word.size()];
}

TEST(UnigramModelTest, FindsBestPath) {
  std::mt19937 random(/*seed=*/5);
  for (int round = 0; round < 100; ++round) {
    std::vector<std::string> tokens = {"<unk>", "a", "b", "c"};  // d is in none
    for (int i = 0; i < 12; ++i) {
      std::string token = RandomWord(random, 5);
      std::replace(token.begin(), token.end(), 'd', 'c');
      if (std::find(tokens.begin(), tokens.end(), token) == tokens.end()) tokens.push_back(token);
    }
    std::vector<double> scores(tokens.size());
    for (double& score : scores) score = -0.001 * static_cast<double>(random() % 10'000);
    const double unk_score = *std::min_element(scores.begin(), scores.end()) - 10;
    const Vocabulary vocabulary = MakeVocabulary(tokens);
    const UnigramModel model(vocabulary, scores, /*unk=*/0, /*byte_fallback=*/false);
    for (int i = 0; i < 20; ++i) {
      const std::string word = RandomWord(random, 20);
      double total = 0;
      size_t at = 0;
      for (const int id : Encode(model, word)) {
        if (id == 0) {  // all of a run of unknown letters
          for (; at < word.size() && word[at] == 'd'; ++at) total += unk_score;
          continue;
        }
        ASSERT_EQ(word.substr(at, tokens[id].size()), tokens[id]);
        at += tokens[id].size();
        total += scores[id];
      }
      ASSERT_EQ(at, word.size());
      ASSERT_NEAR(total, BestScore(word, vocabulary, scores, unk_score), 1e-6) << word;
    }
  }
}

TEST(WordPieceModelTest, TakesLongestTokenOrNone) {
  const Vocabulary vocabulary =
      MakeVocabulary({"[UNK]", "un", "##aff", "##able", "##ab", "unaff", "##", "\u00e9"});
  const WordPieceModel model(vocabulary, {.unk = 0, .max_input_chars_per_word = 12});
  EXPECT_THAT(Encode(model, "unaffable"), ElementsAreArray({5, 3}));
  EXPECT_THAT(Encode(model, "unable"), ElementsAreArray({1, 3}));
  EXPECT_THAT(Encode(model, "unabx"), ElementsAreArray({0}));
  EXPECT_THAT(Encode(model, "\u00e9"), ElementsAreArray({7}));
  EXPECT_THAT(Encode(model, "unableableable"), ElementsAreArray({0}));
}

}  // namespace
}  // namespace shortlist
