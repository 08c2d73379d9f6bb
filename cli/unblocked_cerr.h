#ifndef SHORTLIST_CLI_UNBLOCKED_CERR_H_
#define SHORTLIST_CLI_UNBLOCKED_CERR_H_

namespace shortlist {

/// For a process that must not block on a reader of its stderr. From this call on, writes of all
/// threads to std::cerr wait for room at most one second in total; later writes without room are
/// dropped. Ignores SIGPIPE and SIGXFSZ, so that a closed reader or a file at its size limit does
/// not end the process.
void UnblockCerr();

}  // namespace shortlist

#endif  // SHORTLIST_CLI_UNBLOCKED_CERR_H_
