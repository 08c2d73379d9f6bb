#ifndef SHORTLIST_TEXT_CHAT_CONTENT_FORM_H_
#define SHORTLIST_TEXT_CHAT_CONTENT_FORM_H_

#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json.hpp"

namespace shortlist {

class ChatTemplate;

/// The forms in which a chat template reads the content of a message: as one text, as a list of
/// parts ({"type": "text", "text": "..."}), or both.
struct ContentForm {
  bool text = true;
  bool parts = false;
};

/// Returns the forms that the template reads in messages of `role`: those whose text comes through
/// whole when a short chat is rendered. A template that prints a list as it stands, with its
/// brackets and keys, does not read parts. {text} if neither form comes through.
ContentForm ContentFormOf(const ChatTemplate& chat_template, std::string_view role);

/// Returns a content in a form that is read. A text becomes a list of one part if only parts are
/// read (an empty text stays one); parts become one text, joined by line breaks, if parts are not
/// read. (vLLM does the same; transformers passes on what it is given.)
nlohmann::ordered_json ContentOfText(const ContentForm& form, std::string text);
nlohmann::ordered_json ContentOfParts(const ContentForm& form,
                                      const std::vector<std::string>& parts);

}  // namespace shortlist

#endif  // SHORTLIST_TEXT_CHAT_CONTENT_FORM_H_
