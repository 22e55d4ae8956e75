// How errors are said: kubectl's words for what the server answers, "error: ..." for what was wrong before it
// was asked.
#pragma once

#include <string>

#include "base/values/error.h"

namespace flyball::cli {

// What is wrong on this side: flags, files, names of resources.
Error LocalError(std::string message);
// The same, printed without "error: ": kubectl's way to say that a kind is not served.
Error PlainError(std::string message);
// An error whose text has been printed already: it makes the exit status 1 and prints nothing.
Error PrintedError();

// Without the final newline.
std::string ErrorText(const Error& error);
// The same for one of several errors: local ones are not called errors again.
std::string ErrorTextInList(const Error& error);

}  // namespace flyball::cli
