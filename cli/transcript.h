#ifndef SHORTLIST_CLI_TRANSCRIPT_H_
#define SHORTLIST_CLI_TRANSCRIPT_H_

#include <string>

#include "text/chat/chat_template.h"

namespace shortlist {

/// The messages of a chat so far: at most one system message in front, then user and assistant by
/// turns.
class Transcript {
 public:
  /// `system`: the system message; empty: none.
  explicit Transcript(const std::string& system) { SetSystem(system); }

  /// All but the system message goes.
  void Reset() { turns_.clear(); }
  void SetSystem(const std::string& text) { system_ = text; }

  /// The next message is the user's.
  bool is_users_turn() const { return turns_.size() % 2 == 0; }
  void Add(const std::string& text) { turns_.push_back(text); }
  /// Takes the last message back. Precondition: there is one.
  void DropLast() { turns_.pop_back(); }

  /// What a template renders.
  Chat chat() const;

 private:
  std::string system_;
  std::vector<std::string> turns_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_TRANSCRIPT_H_
