#ifndef SHORTLIST_TEXT_TOKENIZER_CLASS_BUILDERS_H_
#define SHORTLIST_TEXT_TOKENIZER_CLASS_BUILDERS_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "text/tokenizer/tokenizer_class.h"

namespace shortlist {

/// Return the parts that transformers 5's tokenizer classes build from the options in `config`,
/// which is tokenizer_config.json. `parts` are those of tokenizer.json; a part that a class does
/// not build is kept. InvalidArgument names an option of the wrong type.
absl::StatusOr<ClassParts> BuildBert(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildFunnel(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildMpnet(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildGpt2(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildRoberta(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildBlenderbot(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildDeberta(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildGptNeox(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildQwen2(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildQwen35(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildCohere(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildGemma(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildLlama(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildCodeLlama(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildXlmRoberta(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildCamembert(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildT5(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildAlbert(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildDebertaV2(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildBigBird(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildRemBert(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildBarthez(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildReformer(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildXlnet(const nlohmann::json& config, ClassParts parts);
absl::StatusOr<ClassParts> BuildClip(const nlohmann::json& config, ClassParts parts);

/// Sets the flags of a BertNormalizer to do_lower_case (missing: true), strip_accents (missing: the
/// same as lower case) and tokenize_chinese_chars (missing: true).
absl::Status SetBertFlags(const nlohmann::json& config, nlohmann::json& normalizer);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_TOKENIZER_CLASS_BUILDERS_H_
