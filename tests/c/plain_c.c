/* The header is C99. */
#include "c/shortlist.h"

const char* VersionByPlainC(void) { return shortlist_version(); }
