#ifndef SHORTLIST_TESTS_TEXT_SENTENCEPIECE_ORACLE_H_
#define SHORTLIST_TESTS_TEXT_SENTENCEPIECE_ORACLE_H_

#include <memory>
#include <string>
#include <vector>

namespace sentencepiece {
class SentencePieceProcessor;
}

namespace shortlist {

/// SentencePiece itself, to compare with. Its header does not compile together with abseil's.
class SentencePieceOracle {
 public:
  explicit SentencePieceOracle(const std::string& model_path);
  ~SentencePieceOracle();
  std::vector<int> Encode(const std::string& text) const;
  std::string Decode(const std::vector<int>& ids) const;
  int size() const;
  /// The id of a byte piece, or -1 where the model has none.
  int ByteId(int byte) const;
  bool IsByte(int id) const;

 private:
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
};

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_TEXT_SENTENCEPIECE_ORACLE_H_
