// The state machine inside a Reflector; see reflector.h for its guarantees.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/run/executor.h"
#include "client/watch.h"
#include "informer/initial_items.h"
#include "informer/list_decoder.h"
#include "informer/reflector.h"
#include "informer/reflector_stream.h"

namespace flyball {

// Everything runs on its strand, except the observers at the end and calls marked otherwise.
class Reflector::Machine : public std::enable_shared_from_this<Machine> {
 public:
  Machine(Client client, const ObjectType& type, ReflectorOptions options, DeltaQueue& queue);
  ~Machine();

  // Any thread.
  void Start();
  void Stop(Closure stopped);
  void ResumeReading();
  State state() const { return state_; }
  std::string last_resource_version() const;
  std::size_t lists() const { return lists_; }
  std::size_t watches() const { return watches_; }

 private:
  // Upstream's numbers: back-off of 800 ms, doubled up to 30 s, with jitter, reset after two quiet minutes.
  static constexpr Duration kBackoffFirst = std::chrono::milliseconds(800);
  static constexpr Duration kBackoffMax = std::chrono::seconds(30);
  static constexpr Duration kBackoffReset = std::chrono::minutes(2);
  static constexpr int kPageSize = 500;
  // A watch that ends sooner than this without an event is a bad sign: list again.
  static constexpr Duration kShortestWatch = std::chrono::seconds(1);
  // Old servers that do not know sendInitialEvents ignore it and never mark the end of the initial events.
  // After this long without the mark, the reflector lists instead.
  static constexpr Duration kInitialEventsPatience = std::chrono::seconds(15);

  void Enter(State state);
  void Retry(State state);  // after the back-off
  Duration NextBackoff();
  void Relist();  // lists or streams, as the options and the server allow

  void BeginList();
  void BeginStreamingList();
  void BeginWatch();
  void Open(RestRequest request);
  void Close();
  RestRequest BaseRequest(std::string_view form) const;
  void AddWatchQuery(RestRequest& request) const;

  // The stream has data; ignored if it is not the current one.
  void OnStream(const std::shared_ptr<ReflectorStream>& stream);
  void OnListData(ReflectorStream::Taken taken);
  void OnListEnd();
  void LogFailure(std::string_view what, const Error& error);
  void OnListError(const Error& error);
  void OnWatchData(ReflectorStream::Taken taken);
  bool OnFrame(std::string_view frame);
  bool OnEvent(WatchEvent event);
  void OnInitialEvent(WatchEvent event);
  void FinishInitialEvents();
  void OnWatchEnd(const std::optional<Error>& error);
  void OnWatchError(const Error& error);

  // Returns null (and logs) if it cannot be decoded.
  ObjectPtr Decode(json::Value value);
  bool AddListItem(std::string_view text);
  void SetVersion(std::string_view version);

  const Client client_;
  const ObjectType& type_;
  const ReflectorOptions options_;
  DeltaQueue* queue_;
  Strand strand_;

  std::atomic<State> state_ = State::kIdle;
  std::atomic<std::size_t> lists_ = 0, watches_ = 0;
  std::shared_ptr<ReflectorStream> stream_;
  bool held_back_ = false;  // the queue is full: the stream has announced data that was not taken
  TimerId timer_ = kNoTimer;
  bool streaming_refused_ = false;

  // Listing.
  std::string list_version_;  // the version that the running list asked for
  bool versionless_next_ = false;
  bool refusal_logged_ = false;  // that it may not read the kind
  std::string continue_token_;
  ListDecoder list_decoder_;
  std::string error_body_;
  std::vector<ObjectStore::Item> items_;

  // Watching.
  LineSplitter lines_;
  InitialItems initial_;
  SteadyTime watch_began_{};
  bool saw_event_ = false;
  std::optional<Error> stream_error_;

  Duration backoff_ = kBackoffFirst;
  SteadyTime backoff_used_{};

  mutable Mutex mu_;
  std::string version_ FLYBALL_GUARDED_BY(mu_);  // the last version seen
};

}  // namespace flyball
