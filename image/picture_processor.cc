#include "image/picture_processor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "nlohmann/json.hpp"

namespace shortlist {
namespace {

using nlohmann::json;

constexpr int64_t kMaxEdge = 4096;

/// The fields of one file. Null counts as missing.
class ProcessorFields {
 public:
  ProcessorFields(std::string where, const json& object)
      : where_(std::move(where)), object_(object) {}

  const json* Find(const char* name) const {
    const auto found = object_.find(name);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }
  absl::Status Invalid(const char* name, const std::string& problem) const {
    return absl::InvalidArgumentError(absl::StrCat(where_, ": ", name, " ", problem));
  }
  absl::Status Unsupported(const char* name, const std::string& supported) const {
    return absl::UnimplementedError(absl::StrCat(where_, ": ", name, " = ", Shown(*Find(name)),
                                                 " is not supported; ", supported));
  }
  static std::string Shown(const json& value) {
    constexpr size_t kMost = 60;
    std::string text = value.dump(-1, ' ', /*ensure_ascii=*/true, json::error_handler_t::replace);
    if (text.size() > kMost) text = text.substr(0, kMost) + "...";
    return text;
  }

  absl::StatusOr<int64_t> Edge(const char* name, const json& value) const {
    if (value.is_number_integer() && value >= 1 && value <= kMaxEdge) return value.get<int64_t>();
    return Invalid(name, absl::StrCat("= ", Shown(value), " not in [1, ", kMaxEdge, "]"));
  }
  absl::StatusOr<double> Number(const char* name, const json& value, double low,
                                double high) const {
    if (value.is_number() && value.get<double>() >= low && value.get<double>() <= high) {
      return value.get<double>();
    }
    return Invalid(name, absl::StrCat("= ", Shown(value), " not in [", low, ", ", high, "]"));
  }
  /// Returns one number for each channel.
  absl::StatusOr<std::array<double, 3>> Channels(const char* name, std::array<double, 3> otherwise,
                                                 double low, double high) const {
    const json* value = Find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_array() || value->size() != 3) {
      return Invalid(name, absl::StrCat("= ", Shown(*value), " is not a list of 3 numbers"));
    }
    std::array<double, 3> numbers;
    for (size_t c = 0; c < 3; ++c) {
      SHORTLIST_ASSIGN_OR_RETURN(numbers[c], Number(name, (*value)[c], low, high));
    }
    return numbers;
  }

 private:
  std::string where_;
  const json& object_;
};

absl::Status CheckKind(const ProcessorFields& fields) {
  for (const char* name : {"image_processor_type", "feature_extractor_type"}) {
    constexpr std::array kKnown = {"CLIPImageProcessor", "CLIPImageProcessorFast",
                                   "CLIPImageProcessorPil", "CLIPFeatureExtractor"};
    const json* kind = fields.Find(name);
    if (kind == nullptr || std::ranges::any_of(kKnown, [kind](auto k) { return *kind == k; })) {
      continue;
    }
    return fields.Unsupported(name, "CLIPImageProcessor is");
  }
  for (const char* name :
       {"do_resize", "do_center_crop", "do_rescale", "do_normalize", "do_convert_rgb"}) {
    if (const json* does = fields.Find(name); does != nullptr && *does != true) {
      return fields.Unsupported(name, "only true is");
    }
  }
  // use_square_size (KOSMOS-2) turns shortest_edge into height and width.
  for (const char* name : {"do_pad", "use_square_size"}) {
    if (const json* does = fields.Find(name); does != nullptr && *does != false) {
      return fields.Unsupported(name, "only false is");
    }
  }
  return absl::OkStatus();
}

/// Reads {"height", "width"} from `value`, or one number for both.
absl::Status ReadBox(const ProcessorFields& fields, const char* name, const json& value,
                     int64_t& width, int64_t& height) {
  if (value.is_object() && value.size() == 2 && value.contains("height") &&
      value.contains("width")) {
    SHORTLIST_ASSIGN_OR_RETURN(height, fields.Edge(name, value["height"]));
    SHORTLIST_ASSIGN_OR_RETURN(width, fields.Edge(name, value["width"]));
    return absl::OkStatus();
  }
  SHORTLIST_ASSIGN_OR_RETURN(width, fields.Edge(name, value));
  height = width;
  return absl::OkStatus();
}

/// Computes in the order and precision of transformers.
std::shared_ptr<const PictureProcessor::Values> MakeValues(double factor,
                                                           const std::array<double, 3>& mean,
                                                           const std::array<double, 3>& std) {
  auto values = std::make_shared<PictureProcessor::Values>();
  for (size_t c = 0; c < 3; ++c) {
    for (size_t v = 0; v < 256; ++v) {
      const auto scaled = static_cast<float>(static_cast<double>(v) * factor);
      (*values)[c][v] = (scaled - static_cast<float>(mean[c])) / static_cast<float>(std[c]);
    }
  }
  return values;
}

}  // namespace

absl::StatusOr<PictureProcessor> PictureProcessor::Parse(const json& object,
                                                         const std::string& where) {
  if (!object.is_object()) {
    return absl::InvalidArgumentError(absl::StrCat(where, ": not a JSON object"));
  }
  const ProcessorFields fields(where, object);
  SHORTLIST_RETURN_IF_ERROR(CheckKind(fields));
  PictureProcessor processor;
  const json size = fields.Find("size") == nullptr ? json(224) : *fields.Find("size");
  if (size.is_object() && size.size() == 1 && size.contains("shortest_edge")) {
    SHORTLIST_ASSIGN_OR_RETURN(processor.shortest_edge_,
                               fields.Edge("size", size["shortest_edge"]));
  } else if (size.is_object() && !size.contains("height")) {
    return fields.Unsupported("size", "shortest_edge, or height and width are");
  } else {
    SHORTLIST_RETURN_IF_ERROR(ReadBox(fields, "size", size, processor.width_, processor.height_));
    const json* const square = fields.Find("default_to_square");
    if (square != nullptr && !square->is_boolean()) {
      return fields.Invalid("default_to_square", absl::StrCat("= ", ProcessorFields::Shown(*square),
                                                              " not true or false"));
    }
    const bool is_square = square != nullptr && square->get<bool>();
    if (!size.is_object() && !(is_square && fields.Find("size") != nullptr))
      processor.shortest_edge_ = processor.width_;
  }
  if (processor.shortest_edge_ > 0) {
    processor.width_ = processor.height_ = processor.shortest_edge_;
  }
  const json crop = fields.Find("crop_size") == nullptr ? json(224) : *fields.Find("crop_size");
  SHORTLIST_RETURN_IF_ERROR(
      ReadBox(fields, "crop_size", crop, processor.crop_width_, processor.crop_height_));
  if (processor.crop_width_ > processor.width_ || processor.crop_height_ > processor.height_) {
    return absl::UnimplementedError(absl::StrCat(where, ": crop_size ", processor.crop_width_,
                                                 " x ", processor.crop_height_,
                                                 " is larger than size ", processor.width_, " x ",
                                                 processor.height_, ": pictures are not padded"));
  }
  constexpr int kBilinear = 2, kBicubic = 3;  // PIL's numbers
  if (const json* resample = fields.Find("resample"); resample != nullptr) {
    if (*resample != kBilinear && *resample != kBicubic) {
      return fields.Unsupported("resample", "2 (bilinear) and 3 (bicubic) are");
    }
    if (*resample == kBilinear) processor.resampling_ = Resampling::kBilinear;
  }
  constexpr double kMost = 1e6, kLeast = 1e-6;
  double factor = 1.0 / 255.0;
  if (const json* given = fields.Find("rescale_factor"); given != nullptr) {
    SHORTLIST_ASSIGN_OR_RETURN(factor, fields.Number("rescale_factor", *given, kLeast, kMost));
  }
  SHORTLIST_ASSIGN_OR_RETURN(
      const auto mean,
      fields.Channels("image_mean", {0.48145466, 0.4578275, 0.40821073}, -kMost, kMost));
  SHORTLIST_ASSIGN_OR_RETURN(
      const auto std,
      fields.Channels("image_std", {0.26862954, 0.26130258, 0.27577711}, kLeast, kMost));
  processor.values_ = MakeValues(factor, mean, std);
  return processor;
}

absl::StatusOr<PictureProcessor> PictureProcessor::Read(const ModelSource& source) {
  constexpr char kName[] = "preprocessor_config.json", kNewerName[] = "processor_config.json";
  if (source.Contains(kNewerName)) {
    SHORTLIST_ASSIGN_OR_RETURN(const json newer, source.ReadJson(kNewerName));
    if (newer.is_object() && newer.contains("image_processor")) {
      return Parse(newer["image_processor"], source.PathOf(kNewerName) + ": image_processor");
    }
  }
  SHORTLIST_ASSIGN_OR_RETURN(const json object, source.ReadJson(kName));
  return Parse(object, source.PathOf(kName));
}

std::vector<uint8_t> PictureProcessor::Apply(const Picture& picture) const {
  int64_t width = width_, height = height_;
  if (shortest_edge_ > 0) {
    if (picture.width <= picture.height) {
      height = shortest_edge_ * picture.height / picture.width;
    } else {
      width = shortest_edge_ * picture.width / picture.height;
    }
  }
  return ResizeWindow(picture, width, height, resampling_,
                      {.left = (width - crop_width_) / 2,
                       .top = (height - crop_height_) / 2,
                       .width = crop_width_,
                       .height = crop_height_});
}

}  // namespace shortlist
