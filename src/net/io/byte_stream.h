// The two halves of a connection that has left HTTP: what is written to, and who is told what has come.
#pragma once

#include <string_view>

#include "base/values/bytes.h"
#include "base/values/unique_function.h"

namespace flyball::net {

// What bytes are sent through. Thread-safe.
class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Queues; false if the other side is gone.
  virtual bool Write(Bytes bytes) = 0;
  // Nothing more will be written.
  virtual void End() = 0;
  // The connection ends at once, soon.
  virtual void Abort() = 0;
  virtual std::size_t pending_bytes() const = 0;
  // Calls fn once, on the loop, when pending_bytes() is `low` or below or the other side is gone.
  virtual void OnDrained(std::size_t low, Closure fn) = 0;
  // While paused the connection is not read, as far as its protocol allows that.
  virtual void SetPaused(bool paused) = 0;
};

// Told by the session, on the loop.
class ByteListener {
 public:
  virtual ~ByteListener() = default;
  virtual void OnBytes(std::string_view data) = 0;
  // The peer will send no more. False: then there is nothing to be sent either, and the connection closes.
  virtual bool OnEndOfBytes() = 0;
  // The connection is gone; called once, last.
  virtual void OnGone() = 0;
};

}  // namespace flyball::net
