#ifndef SHORTLIST_CLI_UNBLOCKED_CERR_H_
#define SHORTLIST_CLI_UNBLOCKED_CERR_H_

namespace shortlist {

/// For a process that must not hang on whoever reads its stderr: from now to its end, what any
/// thread writes to std::cerr waits for room one second at most, all waits together, and is dropped
/// then. SIGPIPE and SIGXFSZ are ignored, so that a reader that has gone, or a file at its largest
/// size, ends nothing either.
void UnblockCerr();

}  // namespace shortlist

#endif  // SHORTLIST_CLI_UNBLOCKED_CERR_H_
