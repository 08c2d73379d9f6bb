#ifndef SHORTLIST_CLI_TRANSCRIPT_H_
#define SHORTLIST_CLI_TRANSCRIPT_H_

#include <string>
#include <vector>

#include "text/chat/chat_template.h"

namespace shortlist {

/// The messages of a chat so far: at most one system message first, then user and assistant
/// messages alternately.
class Transcript {
 public:
  /// `system`: the system message; empty: none.
  explicit Transcript(const std::string& system) { SetSystem(system); }

  /// Removes all messages except the system message.
  void Reset() { turns_.clear(); }
  void SetSystem(const std::string& text) { system_ = text; }

  /// The next message is the user's.
  bool is_users_turn() const { return turns_.size() % 2 == 0; }
  void Add(const std::string& text) { turns_.push_back({.content = text}); }
  /// Adds the assistant's message. Its reasoning is for templates that show it again.
  void AddAnswer(const std::string& text, const std::string& reasoning) {
    turns_.push_back({.content = text, .reasoning = reasoning});
  }
  /// Removes the last message. Precondition: there is one besides the system message.
  void DropLast() { turns_.pop_back(); }

  /// The conversation as input of a chat template.
  Chat chat() const;

 private:
  struct Turn {
    std::string content;
    std::string reasoning = {};
  };

  std::string system_;
  std::vector<Turn> turns_;
};

}  // namespace shortlist

#endif  // SHORTLIST_CLI_TRANSCRIPT_H_
