#include "vocab/vocab_list.h"
