#include "tests/embed/model_dir.h"

#include <filesystem>

namespace shortlist {

using nlohmann::json;

void ModelDir::Change(const std::string& file, const std::string& pointer, const char* value) {
  if (pointer.empty()) {
    files_.erase(file);
    if (value != nullptr) texts_[file] = value;
    return;
  }
  const json::json_pointer place(pointer);
  json& document = files_[file];
  if (value != nullptr) {
    document[place] = json::parse(value);
  } else if (json& parent = document[place.parent_pointer()]; parent.is_array()) {
    parent.erase(std::stoul(place.back()));
  } else {
    parent.erase(place.back());
  }
}

const std::string& ModelDir::Write() {
  std::map<std::string, std::string> texts = texts_;
  for (const auto& [name, document] : files_) texts.emplace(name, document.dump());
  for (const auto& [name, text] : texts) {
    std::filesystem::create_directories(std::filesystem::path(dir_.Join(name)).parent_path());
    dir_.Write(name, text);
  }
  return dir_.path();
}

}  // namespace shortlist
