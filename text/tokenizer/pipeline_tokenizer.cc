#include "text/tokenizer/pipeline_tokenizer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "text/tokenizer/bert_normalizer.h"
#include "text/tokenizer/json_fields.h"
#include "text/tokenizer/literal_ranges.h"
#include "text/unicode.h"

namespace shortlist {
namespace {

/// Returns the tokens that are searched for in the original text, or in the normalised text.
std::vector<AddedToken> Select(const std::vector<AddedToken>& tokens, bool normalized) {
  std::vector<AddedToken> selected;
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(selected),
               [normalized](const AddedToken& token) { return token.normalized == normalized; });
  return selected;
}

std::vector<std::string> Contents(const std::vector<AddedToken>& tokens) {
  std::vector<std::string> contents;
  for (const AddedToken& token : tokens) contents.push_back(token.content);
  return contents;
}

bool IsBert(const TokenizerPipeline& pipeline) {
  const Normalizer& normalizer = pipeline.normalizer;
  const bool normalizes_so =
      normalizer.size() == 1 && dynamic_cast<const BertNormalizer*>(normalizer[0].get()) != nullptr;
  return pipeline.pre_tokenizer.is_bert && normalizes_so &&
         Select(pipeline.added_tokens, /*normalized=*/true).empty();
}

}  // namespace

/// Working memory of one Encode call. Trim() frees the large buffers of a large text.
struct PipelineTokenizer::Scratch {
  EncodeScratch encode;
  TextPieces pieces;
  std::vector<AddedTokenMatcher::Part> raw_parts, normalized_parts;

  void Trim() {
    constexpr size_t kKept = 1 << 16;
    pieces.rewritten.clear();
    if (pieces.pieces.capacity() > kKept || pieces.next.capacity() > kKept) pieces = TextPieces();
    if (encode.symbols.capacity() > kKept) encode.symbols = {};
    if (encode.candidates.capacity() > kKept) encode.candidates = {};
    if (encode.path.capacity() > kKept) encode.path = {};
    if (raw_parts.capacity() > kKept) raw_parts = {};
    if (normalized_parts.capacity() > kKept) normalized_parts = {};
  }
};

std::optional<int32_t> TokenizerPipeline::FindToken(std::string_view token) const {
  for (const AddedToken& added : added_tokens) {
    if (added.content == token) return added.id;
  }
  return vocabulary->Find(token);
}

int32_t TokenizerPipeline::size() const {
  int32_t size = vocabulary->size();
  for (const AddedToken& token : added_tokens) size = std::max(size, token.id + 1);
  return size;
}

absl::StatusOr<std::unique_ptr<Tokenizer>> PipelineTokenizer::Create(TokenizerPipeline pipeline) {
  const std::vector<AddedToken> tokens = Select(pipeline.added_tokens, /*normalized=*/true);
  size_t content_bytes = 0;
  for (const AddedToken& token : tokens) content_bytes += token.content.size();
  EncodeBudget budget(content_bytes, /*max_ids=*/0, /*max_tokens=*/0);
  std::vector<std::string> spellings;
  for (const AddedToken& token : tokens) {
    NormalizedText spelling{
        .text = token.content, .max_bytes = budget.rewritten_bytes(), .budget = &budget};
    SHORTLIST_RETURN_IF_ERROR(Apply(pipeline.normalizer, spelling));
    SHORTLIST_RETURN_IF_ERROR(budget.TakeBytes(spelling.text.size()));
    spellings.push_back(std::move(spelling.text));
  }
  if (pipeline.pre_tokenizer.steps.empty() && pipeline.model->SplitsBeforeSpaceMarks()) {
    pipeline.pre_tokenizer.steps.push_back(MakeSpaceMarkStep());
  }
  std::unique_ptr<PipelineTokenizer> tokenizer(
      new PipelineTokenizer(std::move(pipeline), spellings));
  SHORTLIST_RETURN_IF_ERROR(tokenizer->ReadTokens(spellings));
  return tokenizer;
}

PipelineTokenizer::PipelineTokenizer(TokenizerPipeline pipeline,
                                     const std::vector<std::string>& normalized_spellings)
    : pipeline_(std::move(pipeline)),
      raw_matcher_(Select(pipeline_.added_tokens, /*normalized=*/false),
                   Contents(Select(pipeline_.added_tokens, /*normalized=*/false))),
      normalized_matcher_(Select(pipeline_.added_tokens, /*normalized=*/true),
                          normalized_spellings),
      is_bert_(IsBert(pipeline_)),
      words_have_ids_(!pipeline_.model->drops_words()),
      word_bytes_per_id_(pipeline_.model->max_token_bytes()) {
  FindMaxTokenBytes(normalized_spellings);
}

void PipelineTokenizer::FindMaxTokenBytes(const std::vector<std::string>& normalized_spellings) {
  const std::optional<int64_t> shrinkage = MaxShrinkage(pipeline_.normalizer);
  if (!word_bytes_per_id_.has_value() || !shrinkage.has_value() ||
      pipeline_.pre_tokenizer.drops_text()) {
    return;
  }
  int64_t in_normalized_text = *word_bytes_per_id_;
  for (const std::string& spelling : normalized_spellings) {
    in_normalized_text = std::max(in_normalized_text, static_cast<int64_t>(spelling.size()));
  }
  int64_t longest = in_normalized_text * *shrinkage;
  for (const AddedToken& token : pipeline_.added_tokens) {
    if (token.lstrip || token.rstrip) return;
    longest = std::max(longest, static_cast<int64_t>(token.content.size()));
  }
  max_token_bytes_ = longest;
}

absl::Status PipelineTokenizer::ReadTokens(const std::vector<std::string>& normalized_spellings) {
  const size_t size = static_cast<size_t>(pipeline_.size());
  const TokenDecoder& decoder = pipeline_.decoder;
  texts_.resize(size);
  if (decoder.first_differs) first_texts_.resize(size);
  is_special_.resize(size, true);  // ids without text, gaps included
  spellings_.resize(size);
  if (decoder.has_byte_tokens) is_byte_.resize(size);
  const auto read = [&](int32_t id, const std::string& token) -> absl::Status {
    is_special_[id] = false;
    if (decoder.has_byte_tokens) is_byte_[id] = shortlist::IsByteToken(token);
    SHORTLIST_ASSIGN_OR_RETURN(texts_[id], decoder.Read(token, /*first=*/false));
    if (!decoder.first_differs) return absl::OkStatus();
    SHORTLIST_ASSIGN_OR_RETURN(first_texts_[id], decoder.Read(token, /*first=*/true));
    return absl::OkStatus();
  };
  const Vocabulary& vocabulary = *pipeline_.vocabulary;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    if (vocabulary.Has(id)) SHORTLIST_RETURN_IF_ERROR(read(id, vocabulary.token(id)));
  }
  size_t num_normalized = 0;
  for (const AddedToken& token : pipeline_.added_tokens) {
    // As in the tokenizers library, a token decodes to its spelling in the text.
    const std::string& content =
        token.normalized ? normalized_spellings[num_normalized++] : token.content;
    if (!token.special) {
      SHORTLIST_RETURN_IF_ERROR(read(token.id, content));
      continue;
    }
    is_special_[token.id] = true;
    texts_[token.id].clear();
    spellings_[token.id] = token.content;
    auto& shown = shown_[token.id];
    SHORTLIST_ASSIGN_OR_RETURN(shown.first, decoder.Read(token.content, /*first=*/true));
    SHORTLIST_ASSIGN_OR_RETURN(shown.later, decoder.Read(token.content, /*first=*/false));
  }
  return absl::OkStatus();
}

int32_t PipelineTokenizer::Checked(TokenId id) const {
  SHORTLIST_CHECK(Raw(id) >= 0 && Raw(id) < size());
  return Raw(id);
}

std::string_view PipelineTokenizer::ControlPiece(TokenId id) const {
  return spellings_[Checked(id)];
}

std::string_view PipelineTokenizer::NextBytes(TokenId id, bool& at_start) const {
  std::string_view bytes = TokenBytes(id);
  if (!at_start || IsSpecial(id)) return bytes;
  const TokenDecoder& decoder = pipeline_.decoder;
  if (decoder.first_differs) bytes = first_texts_[Raw(id)];
  at_start = !decoder.first_differs && bytes.empty();
  if (decoder.strips_leading_space && bytes.starts_with(' ')) bytes.remove_prefix(1);
  return bytes;
}

std::string_view PipelineTokenizer::NextSpelling(TokenId id, bool& at_start) const {
  const bool is_first = std::exchange(at_start, false);
  const auto shown = shown_.find(Checked(id));
  if (shown == shown_.end()) return "";
  std::string_view text = is_first ? shown->second.first : shown->second.later;
  if (is_first && pipeline_.decoder.strips_leading_space && text.starts_with(' ')) {
    text.remove_prefix(1);
  }
  return text;
}

struct PipelineTokenizer::Call {
  Scratch& scratch;
  const EncodeOptions& options;
  EncodeBudget& budget;
  std::vector<TokenId>& ids;

  absl::Status CheckIds() const { return budget.CheckIds(ids.size()); }
  size_t NumIdsLeft() const { return budget.max_ids() - std::min(ids.size(), budget.max_ids()); }
  /// Returns the error for too many ids.
  absl::Status TooManyIds() const { return budget.CheckIds(budget.max_ids() + 1); }
};

absl::Status PipelineTokenizer::InModel(const absl::Status& status, std::string_view word) const {
  if (status.ok()) return status;
  return Within(absl::StrCat("model ", pipeline_.kind, " on a word of ", word.size(), " bytes"),
                status);
}

absl::Status PipelineTokenizer::EncodeText(std::string_view text, const EncodeOptions& options,
                                           EncodeBudget& budget, std::vector<TokenId>& ids) const {
  const auto loan = scratch_pool_.Borrow();
  Call call{*loan, options, budget, ids};
  call.scratch.encode.budget = &budget;
  const absl::Status status = EncodeParts(text, call);
  call.scratch.Trim();
  return status;
}

absl::Status PipelineTokenizer::EncodeParts(std::string_view text, Call& call) const {
  std::vector<AddedTokenMatcher::Part>& parts = call.scratch.raw_parts;
  if (!raw_matcher_.Split(text, call.options.parse_special, call.NumIdsLeft(), parts,
                          call.options.literal)) {
    return call.TooManyIds();
  }
  for (const AddedTokenMatcher::Part& part : parts) {
    if (part.token != nullptr) {
      call.ids.push_back(TokenId{part.token->id});
    } else if (is_bert_) {
      SHORTLIST_RETURN_IF_ERROR(EncodeBertText(part.text, call));
    } else {
      SHORTLIST_RETURN_IF_ERROR(EncodePart(part.text, text, call));
    }
    SHORTLIST_RETURN_IF_ERROR(call.CheckIds());
  }
  return absl::OkStatus();
}

/// `part` is a part of the whole `text`.
absl::Status PipelineTokenizer::EncodePart(std::string_view part, std::string_view text,
                                           Call& call) const {
  NormalizedText normalized{.text = "",
                            .at_origin = part.data() == text.data(),
                            .max_bytes = call.budget.rewritten_bytes(),
                            .budget = &call.budget};
  if (pipeline_.normalizer.empty() && normalized_matcher_.empty()) {
    return EncodeWords(part, normalized.at_origin, call);
  }
  normalized.text = part;
  SHORTLIST_RETURN_IF_ERROR(Apply(pipeline_.normalizer, normalized));
  SHORTLIST_RETURN_IF_ERROR(call.budget.TakeBytes(normalized.text.size()));
  if (normalized.text.empty()) return absl::OkStatus();
  if (normalized_matcher_.empty()) return EncodeWords(normalized.text, normalized.at_origin, call);
  SHORTLIST_RETURN_IF_ERROR(SplitNormalized(part, text, normalized, call));
  for (const AddedTokenMatcher::Part& piece : call.scratch.normalized_parts) {
    if (piece.token != nullptr) {
      call.ids.push_back(TokenId{piece.token->id});
      SHORTLIST_RETURN_IF_ERROR(call.CheckIds());
    } else {
      const bool is_first = piece.text.data() == normalized.text.data();
      SHORTLIST_RETURN_IF_ERROR(EncodeWords(piece.text, normalized.at_origin && is_first, call));
    }
  }
  return absl::OkStatus();
}

/// Maps the literal ranges into the normalised part only if a special token was found.
absl::Status PipelineTokenizer::SplitNormalized(std::string_view part, std::string_view text,
                                                NormalizedText& normalized, Call& call) const {
  std::vector<AddedTokenMatcher::Part>& parts = call.scratch.normalized_parts;
  const bool parse_special = call.options.parse_special;
  if (!normalized_matcher_.Split(normalized.text, parse_special, call.NumIdsLeft(), parts)) {
    return call.TooManyIds();
  }
  const bool has_special = std::any_of(parts.begin(), parts.end(), [](const auto& piece) {
    return piece.token != nullptr && piece.token->special;
  });
  if (!has_special) return absl::OkStatus();
  const auto begin = static_cast<size_t>(part.data() - text.data());
  std::vector<ByteRange> literal = RangesWithin({begin, begin + part.size()}, call.options.literal);
  if (literal.empty()) return absl::OkStatus();
  SHORTLIST_RETURN_IF_ERROR(
      MoveRanges(pipeline_.normalizer, part, call.budget, normalized, literal));
  const bool fits =
      normalized_matcher_.Split(normalized.text, parse_special, call.NumIdsLeft(), parts, literal);
  return fits ? absl::OkStatus() : call.TooManyIds();
}

absl::Status PipelineTokenizer::EncodeWords(std::string_view text, bool at_origin,
                                            Call& call) const {
  if (!pipeline_.pre_tokenizer.drops_text()) {
    SHORTLIST_RETURN_IF_ERROR(
        call.budget.CheckBytes(call.ids.size(), text.size(), word_bytes_per_id_));
  }
  TextPieces& pieces = call.scratch.pieces;
  pieces.rewritten.clear();
  pieces.pieces.assign(1, {text, at_origin});
  const size_t max_words = words_have_ids_ ? call.NumIdsLeft() : std::numeric_limits<size_t>::max();
  SHORTLIST_RETURN_IF_ERROR(pipeline_.pre_tokenizer.Run(max_words, call.budget, pieces));
  for (const TextPiece& piece : pieces.pieces) {
    if (piece.text.size() > WordCache::kMaxWordBytes) {
      SHORTLIST_RETURN_IF_ERROR(
          call.budget.CheckBytes(call.ids.size(), piece.text.size(), word_bytes_per_id_));
    }
    SHORTLIST_RETURN_IF_ERROR(InModel(
        EncodeCached(*pipeline_.model, piece.text, call.scratch.encode, call.ids), piece.text));
    SHORTLIST_RETURN_IF_ERROR(call.CheckIds());
  }
  return absl::OkStatus();
}

/// BERT's steps treat the text between ASCII spaces and punctuation independently, since
/// decomposition never reaches across an ASCII character. So chunks can be cached by their original
/// text.
absl::Status PipelineTokenizer::EncodeBertText(std::string_view text, Call& call) const {
  const CharTable& table = CharTable::Get();
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
  const auto is_punctuation = [&table](char c) {
    return (c & 0x80) == 0 && (table.flags(static_cast<uint8_t>(c)) & kPunctuation) != 0;
  };
  for (size_t begin = 0, end; begin < text.size(); begin = end) {
    end = begin + 1;
    if (is_space(text[begin])) continue;
    if (!is_punctuation(text[begin])) {
      while (end < text.size() && !is_space(text[end]) && !is_punctuation(text[end])) ++end;
    }
    SHORTLIST_RETURN_IF_ERROR(EncodeBertChunk(text.substr(begin, end - begin), call));
    SHORTLIST_RETURN_IF_ERROR(call.CheckIds());
  }
  return absl::OkStatus();
}

absl::Status PipelineTokenizer::EncodeBertChunk(std::string_view chunk, Call& call) const {
  EncodeScratch& encode = call.scratch.encode;
  std::vector<TokenId>& ids = call.ids;
  WordCache::Entry* entry = nullptr;
  if (chunk.size() <= WordCache::kMaxWordBytes) {
    entry = &encode.cache.Find(chunk);
    if (entry->Holds(chunk)) {
      ids.insert(ids.end(), entry->ids, entry->ids + entry->num_ids);
      return absl::OkStatus();
    }
  }
  const size_t num_ids_before = ids.size();
  NormalizedText normalized{.text = std::string(chunk)};
  SHORTLIST_RETURN_IF_ERROR(Apply(pipeline_.normalizer, normalized));
  TextPieces& pieces = call.scratch.pieces;
  pieces.pieces.clear();
  if (!normalized.text.empty()) pieces.pieces.push_back({normalized.text, true});
  SHORTLIST_RETURN_IF_ERROR(pipeline_.pre_tokenizer.Run(call.NumIdsLeft(), call.budget, pieces));
  for (const TextPiece& piece : pieces.pieces) {
    SHORTLIST_RETURN_IF_ERROR(
        InModel(pipeline_.model->Encode(piece.text, encode, ids), piece.text));
  }
  if (entry != nullptr)
    entry->Store(chunk, ids.data() + num_ids_before, ids.size() - num_ids_before);
  return absl::OkStatus();
}

}  // namespace shortlist
