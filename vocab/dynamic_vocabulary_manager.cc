#include "vocab/dynamic_vocabulary_manager.h"
