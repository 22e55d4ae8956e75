// EventRecorder: records what a controller did as Events on the objects concerned (upstream: client-go
// tools/record).
//
// A repeated event increments its count by a patch. Ten or more events that differ only in their message
// become one "(combined from similar events)". An object gets at most 25 events from one source at once, then
// one every five minutes. Never blocks: the executor sends events, and when kMaxPending are waiting, new
// events are dropped and counted.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "client/client.h"
#include "json/value.h"

namespace flyball {

// The object of an event (upstream: ObjectReference).
struct EventTarget {
  KindRef kind{};
  std::string ns{}, name{}, uid{}, resource_version{};
  std::string field_path{};  // "spec.containers{web}"; empty: the whole object
};

template <ApiObject T>
EventTarget TargetOf(const T& object) {
  const MetaView meta = MetaOf(object);
  return {KindRefOf<T>(),
          std::string(meta.ns),
          std::string(meta.name),
          std::string(meta.uid),
          std::string(meta.resource_version),
          {}};
}

// Thread-safe.
class EventRecorder {
 public:
  static constexpr std::size_t kMaxPending = 1000;

  // `component` is the source ("deployment-controller"); `host` is the node, for node agents.
  EventRecorder(Client client, std::string component, std::string host = {});
  ~EventRecorder();

  void Normal(const EventTarget& target, std::string_view reason, std::string_view message) {
    Record(target, "Normal", reason, message);
  }
  void Warning(const EventTarget& target, std::string_view reason, std::string_view message) {
    Record(target, "Warning", reason, message);
  }
  template <ApiObject T>
  void Normal(const T& object, std::string_view reason, std::string_view message) {
    Record(TargetOf(object), "Normal", reason, message);
  }
  template <ApiObject T>
  void Warning(const T& object, std::string_view reason, std::string_view message) {
    Record(TargetOf(object), "Warning", reason, message);
  }
  // `type` is "Normal" or "Warning".
  void Record(const EventTarget& target, std::string_view type, std::string_view reason,
              std::string_view message);

  std::size_t pending() const;
  std::size_t dropped() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace flyball
