// Watch streams: newline-delimited JSON frames {"type": ..., "object": ...}, cut into pieces by the network
// wherever it likes.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/run/mutex.h"
#include "base/values/result.h"
#include "client/rest_client.h"
#include "json/value.h"

namespace flyball {

enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchEventType type = WatchEventType::kAdded;
  json::Value object;  // a Status for kError
};

// Reassembles lines from pieces. Only an incomplete line is ever copied. Thread-compatible.
class LineSplitter {
 public:
  // A longer line is an error: the peer is not speaking the watch protocol.
  static constexpr std::size_t kMaxLine = 16u << 20;

  // Calls fn(std::string_view line) for every line completed by `data`, without its newline; empty lines are
  // skipped. fn returns false to stop. False if it did or if a line became too long.
  template <typename Fn>
  bool Feed(std::string_view data, Fn&& fn) {
    for (;;) {
      const std::size_t end = data.find('\n');
      if (end == std::string_view::npos) break;
      std::string_view line = data.substr(0, end);
      data.remove_prefix(end + 1);
      if (!partial_.empty()) {
        partial_.append(line);
        line = partial_;
      }
      const bool go_on = line.empty() || fn(line);
      partial_.clear();
      if (!go_on) return false;
    }
    partial_.append(data);
    return partial_.size() <= kMaxLine;
  }
  bool has_partial() const { return !partial_.empty(); }

 private:
  std::string partial_;
};

// `leave_out` as for json::ParseWithout, from the frame down ("object.metadata.managedFields").
Result<WatchEvent> ParseWatchEvent(std::string_view frame, std::span<const std::string_view> leave_out = {});

// Gets the events of one watch. Calls come one at a time on an I/O thread (or inline) and must not block.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  virtual void OnEvent(WatchEvent event) = 0;
  // The stream has ended: ok when the server closed it in order, else why. Errors that the server sent inside
  // the stream arrive as an event of type kError first.
  virtual void OnDone(const Status& status) = 0;
};

// A watch under way. Destroying it cancels. Thread-safe.
class WatchStream {
 public:
  explicit WatchStream(std::shared_ptr<net::Call> call) : call_(std::move(call)) {}
  ~WatchStream() { Cancel(); }
  WatchStream(const WatchStream&) = delete;
  WatchStream& operator=(const WatchStream&) = delete;
  void Cancel() { call_->Cancel(); }
  void Pause() { call_->Pause(); }
  void Resume() { call_->Resume(); }

 private:
  const std::shared_ptr<net::Call> call_;
};

// Starts a watch; `request` must already ask for one (watch=true).
std::unique_ptr<WatchStream> StartWatch(RestClient& client, RestRequest request,
                                        std::shared_ptr<WatchSink> sink);

// A watch read by plain blocking code:
//   auto events = client.Watch<Pod>("default");
//   while (auto event = (*events)->Next()) ...
// Holds at most kBuffer events; a slower reader makes the stream wait (back-pressure), which the server may
// end. Thread-safe; one reader. Not for simulations: Next blocks.
class WatchReader {
 public:
  static constexpr std::size_t kBuffer = 1000;

  static std::unique_ptr<WatchReader> Start(RestClient& client, RestRequest request);
  ~WatchReader();

  // The next event; nothing at the stream's end, when status() says why.
  std::optional<WatchEvent> Next();
  Status status() const;
  void Cancel();

 private:
  struct Shared;
  explicit WatchReader(std::shared_ptr<Shared> shared) : shared_(std::move(shared)) {}
  const std::shared_ptr<Shared> shared_;
};

}  // namespace flyball
