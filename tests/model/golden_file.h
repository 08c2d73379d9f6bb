#ifndef SHORTLIST_TESTS_MODEL_GOLDEN_FILE_H_
#define SHORTLIST_TESTS_MODEL_GOLDEN_FILE_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/ids.h"

namespace shortlist {

/// Tensors of a golden file by name: those of F32, and those of I32.
struct Golden {
  std::map<std::string, std::vector<float>> floats;
  std::map<std::string, std::vector<TokenId>> ids;
};

Golden ReadGolden(const std::string& path);

/// The directory of a case below tests/reference/golden.
std::string GoldenDir(const std::string& name);

/// f32 is held to 1e-4 of the largest value; the others, which round weights and cache, to the
/// direction of each row of `width` numbers.
void ExpectClose(DType dtype, const std::vector<float>& got, const std::vector<float>& want,
                 size_t width);

}  // namespace shortlist

#endif  // SHORTLIST_TESTS_MODEL_GOLDEN_FILE_H_
