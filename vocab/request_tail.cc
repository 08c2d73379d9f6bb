#include "vocab/request_tail.h"
