// String literals: quotes, prefixes and escapes. Internal to the parser.
#pragma once

#include <string>
#include <string_view>

namespace flyball::cel {

// The text that a string or (without its b) bytes literal stands for; false and a message if an escape is
// wrong.
bool UnquoteLiteral(std::string_view literal, bool bytes, std::string* text, std::string* problem);

}  // namespace flyball::cel
