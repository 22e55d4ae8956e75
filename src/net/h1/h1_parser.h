// Push parser of HTTP/1.1 messages, on Boost.Beast's. Stricter than Beast where leniency lets requests be
// smuggled: one Content-Length of digits only, Transfer-Encoding exactly "chunked", never both, no folded
// lines. What surrounds the data of a chunked body (sizes, extensions, trailers) is bounded as in Go's
// servers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "net/http/http.h"

namespace flyball::net {

struct H1Limits {
  std::size_t header_bytes;
  std::uint64_t body_bytes;
};

// Head of a message, and its body as far as it has come.
struct H1Message {
  // Requests.
  std::string method, target;
  // Answers.
  int status = 0;

  int version = 11;
  Headers headers;
  std::string body;  // appended to; the owner may take it away at any time
  bool keep_alive = true;
  bool upgrade = false;
};

// Parses one message. Confined.
class H1Parser {
 public:
  enum class Kind { kRequest, kResponse };
  enum class State {
    kHead,   // reading the head
    kBody,   // head is complete
    kDone,   // all is complete
    kError,  // see error_status
  };

  H1Parser(Kind kind, H1Limits limits);
  ~H1Parser();
  H1Parser(H1Parser&&) noexcept;
  H1Parser& operator=(H1Parser&&) noexcept;

  // Takes what it can; returns how many bytes. Returns after the head, and at the end of the message, even if
  // there is more: call again while it takes some and is not done. Bytes that it did not take are given
  // again, with what follows them; an element of the message that does not fit into the header limit is an
  // error, so the caller never keeps more than that.
  std::size_t Put(std::string_view data);
  // The input has ended: answers without a length are complete then.
  void PutEof();
  // The answer to come has no body whatever its head says (to HEAD).
  void ExpectNoBody();

  State state() const;
  // 400, 413 or 431.
  int error_status() const;
  std::string error_text() const;
  H1Message& message();

 private:
  struct Beast;
  std::unique_ptr<Beast> beast_;
};

}  // namespace flyball::net
