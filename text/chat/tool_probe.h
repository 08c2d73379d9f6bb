#ifndef SHORTLIST_TEXT_CHAT_TOOL_PROBE_H_
#define SHORTLIST_TEXT_CHAT_TOOL_PROBE_H_

namespace shortlist {

class ChatTemplate;

// How a template treats calls of tools, found by rendering short chats.

/// True if chats with a message of the role "tool" render, and none shows its content.
bool RendersWithoutToolContent(const ChatTemplate& chat_template);

/// True if "arguments" of a call must be a text of JSON, as in templates that join it to other text
/// (DeepSeek V3): a chat with an object does not render, one with a text shows it.
bool ReadsArgumentText(const ChatTemplate& chat_template);

/// True if a message of calls must have a content (Qwen 3): a chat renders with an empty one, and
/// does not without.
bool NeedsContentOfCalls(const ChatTemplate& chat_template);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_CHAT_TOOL_PROBE_H_
