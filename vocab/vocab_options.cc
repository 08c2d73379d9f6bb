#include "vocab/vocab_options.h"
