#include "text/sentencepiece_model.h"
