#include "vocab/active_vocab.h"
