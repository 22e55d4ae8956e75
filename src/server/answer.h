// Answer: a complete response, before it is sent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "net/http.h"

namespace flyball::server {

struct Answer {
  int code = 200;
  std::string content_type = "application/json";
  std::string body;
  net::Headers headers = {};
};

// A Status body; adds Retry-After where the error says so.
Answer ErrorAnswer(const Error& error);
Answer TextAnswer(int code, std::string text);
// Adds a Warning header a text (`299 - "..."`), duplicates once, and sends.
void SendAnswer(net::ResponseStream& stream, Answer answer, const std::vector<std::string>& warnings);

}  // namespace flyball::server
