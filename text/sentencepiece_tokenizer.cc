#include "text/sentencepiece_model.h"
#include "text/tokenizer.h"
