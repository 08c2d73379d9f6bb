#ifndef SHORTLIST_HEAD_HEAD_BYTES_H_
#define SHORTLIST_HEAD_HEAD_BYTES_H_

#include <cstdint>

#include "kernels/head.h"
#include "kernels/quant.h"

namespace shortlist {

/// What is read to score one row of a head.
inline int64_t HeadRowBytes(const HeadWeight& head) { return RowBytes(head.dtype, head.hidden); }

}  // namespace shortlist

#endif  // SHORTLIST_HEAD_HEAD_BYTES_H_
