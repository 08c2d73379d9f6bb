#include "model/checkpoint/packing_config.h"

#include <string>

#include "absl/strings/ascii.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxGroupSize = int64_t{1} << 22;

/// Returns the text of a field in lower case, `otherwise` if it is absent.
std::string LowerText(const ConfigFields& fields, const char* name, const char* otherwise) {
  const json* value = fields.Find(name);
  if (value == nullptr) return otherwise;
  return value->is_string() ? absl::AsciiStrToLower(value->get<std::string>()) : value->dump();
}

absl::Status CheckIs(const ConfigFields& fields, const char* name, const json& supported) {
  const json* value = fields.Find(name);
  if (value == nullptr || *value == supported) return absl::OkStatus();
  return fields.Unsupported(name, *value, "only " + supported.dump() + " is");
}

absl::StatusOr<WeightPacking> ReadGptq(const ConfigFields& fields, WeightPacking packing) {
  packing.kind = WeightPacking::Kind::kGptq;
  SHORTLIST_ASSIGN_OR_RETURN(packing.act_order, fields.Bool("desc_act", false));
  const char* const format_name =
      fields.Find("checkpoint_format") != nullptr ? "checkpoint_format" : "format";
  const std::string format = LowerText(fields, format_name, "gptq");
  if (format != "gptq" && format != "gptq_v2") {
    return fields.Unsupported(format_name, format, "\"gptq\" and \"gptq_v2\" are");
  }
  packing.zero_offset = format == "gptq" ? 1 : 0;
  SHORTLIST_RETURN_IF_ERROR(CheckIs(fields, "is_marlin_format", false));
  SHORTLIST_RETURN_IF_ERROR(CheckIs(fields, "pack_dtype", "int32"));
  SHORTLIST_RETURN_IF_ERROR(CheckIs(fields, "lm_head", false));
  SHORTLIST_RETURN_IF_ERROR(CheckIs(fields, "dynamic", json::object()));
  return packing;
}

absl::StatusOr<WeightPacking> ReadAwq(const ConfigFields& fields, WeightPacking packing) {
  packing.kind = WeightPacking::Kind::kAwq;
  const std::string version = LowerText(fields, "version", "gemm");
  if (version != "gemm") return fields.Unsupported("version", version, "only \"gemm\" is");
  SHORTLIST_RETURN_IF_ERROR(CheckIs(fields, "zero_point", true));
  return packing;
}

}  // namespace

absl::StatusOr<WeightPacking> ReadPacking(const ConfigFields& fields) {
  const std::string method = LowerText(fields, "quant_method", "gptq");
  if (method != "gptq" && method != "awq") {
    return fields.Unsupported("quant_method", method, "\"gptq\" and \"awq\" of 4 bits are");
  }
  const char* const bits_name = fields.Find("w_bit") != nullptr ? "w_bit" : "bits";
  const bool is_named = fields.Find("quant_method") != nullptr;
  if (!is_named && fields.Find(bits_name) == nullptr) {
    return fields.Unsupported("quant_method", nullptr, "\"gptq\" and \"awq\" of 4 bits are");
  }
  if (fields.Find(bits_name) == nullptr) return fields.Invalid(bits_name, "is missing");
  SHORTLIST_RETURN_IF_ERROR(CheckIs(fields, bits_name, 4));
  const char* const size_name =
      fields.Find("q_group_size") != nullptr ? "q_group_size" : "group_size";
  SHORTLIST_ASSIGN_OR_RETURN(const int64_t group_size, fields.Int(size_name, -1, kMaxGroupSize));
  WeightPacking packing;
  packing.group_size = group_size > 0 ? group_size : 0;
  return method == "gptq" ? ReadGptq(fields, packing) : ReadAwq(fields, packing);
}

}  // namespace shortlist
