#include "kernels/isa.h"

#include "gtest/gtest.h"
#include "kernels/cpu/kernel_table.h"
#include "tests/kernels/kernel_testing.h"

namespace shortlist {
namespace {

constexpr Isa kAllIsas[] = {Isa::kScalar, Isa::kAmxPlain,   Isa::kAvx2,
                            Isa::kAvx512, Isa::kAvx512Bf16, Isa::kAmx};

TEST(IsaTest, NamesParseBack) {
  for (const Isa isa : kAllIsas) {
    EXPECT_EQ(ParseIsa(IsaName(isa)), isa);
  }
  EXPECT_EQ(ParseIsa("avx1024"), std::nullopt);
  EXPECT_EQ(ParseIsa(""), std::nullopt);
}

TEST(IsaTest, DefaultsToStrongest) { EXPECT_EQ(CurrentIsa(), DetectIsa()); }

TEST(IsaTest, SetIsaRejectsUnsupported) {
  const Isa before = CurrentIsa();
  for (const Isa isa : kAllIsas) {
    const Isa current = CurrentIsa();
    const bool expected = isa <= DetectIsa();
    EXPECT_EQ(SetIsa(isa), expected);
    EXPECT_EQ(CurrentIsa(), expected ? isa : current);
  }
  SetIsa(before);
}

TEST(IsaTest, EverySetHasItsOwnKernels) {
  const KernelTable* previous = nullptr;
  for (const Isa isa : SupportedIsas()) {
    const ScopedIsa scoped(isa);
    EXPECT_NE(&CurrentKernels(), previous);
    previous = &CurrentKernels();
  }
}

}  // namespace
}  // namespace shortlist
