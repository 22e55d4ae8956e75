#include "load/watcher.h"

#include "json/json.h"
#include "load/writer.h"

namespace flyball::load {
namespace {

std::string KeyOf(const json::Value& object) {
  const auto& metadata = object["metadata"];
  return std::string(metadata["namespace"].string_or("")) + "/" + std::string(metadata["name"].string_or(""));
}

std::string VersionOf(const json::Value& object) {
  return std::string(object["metadata"]["resourceVersion"].string_or(""));
}

RestRequest ListRequest() {
  RestRequest request;
  request.path = "/api/v1/configmaps";
  request.max_retries = 0;
  request.Query("labelSelector", std::string(kLoadLabel));
  return request;
}

}  // namespace

bool Watcher::List(RestClient& client, Tally& tally, State& state, std::string& version) {
  const auto answer = client.Do(ListRequest());
  tally.Count("list to watch", answer);
  if (!answer) return false;
  const auto list = json::Parse(answer->body);
  if (!list || !(*list)["items"].is_array()) {
    tally.Problem("a list that is none: " + answer->body.substr(0, 200));
    return false;
  }
  state.clear();
  for (const auto& item : (*list)["items"].as_array()) state[KeyOf(item)] = VersionOf(item);
  version = VersionOf(*list);
  return true;
}

void Watcher::Wrong(const std::string& what, const std::string& key) {
  tally_.Problem(name_ + ": " + what + " " + key);
  version_.clear();
}

void Watcher::Take(const WatchEvent& event) {
  if (event.type == WatchEventType::kError) {
    version_.clear();
    if (event.object["code"].int_or(0) != 410) Wrong("an error in the stream:", json::Write(event.object));
    return;
  }
  const std::string version = VersionOf(event.object);
  // A bookmark may repeat where the stream is.
  if (std::stoll(version) < std::stoll(version_))
    return Wrong("an event that goes back to " + version, version_);
  if (event.type == WatchEventType::kBookmark) {
    version_ = version;
    return;
  }
  const std::string key = KeyOf(event.object);
  if (version == version_) return Wrong("an event twice:", key + " " + version);
  version_ = version;
  const bool known = state_.contains(key);
  switch (event.type) {
    case WatchEventType::kAdded:
      if (known) Wrong("ADDED of what is there:", key);
      state_[key] = version;
      break;
    case WatchEventType::kModified:
      if (!known) Wrong("MODIFIED of what is not there:", key);
      state_[key] = version;
      break;
    default:
      if (!known) Wrong("DELETED of what is not there:", key);
      state_.erase(key);
  }
}

void Watcher::Round() {
  if (version_.empty() && !List(client_, tally_, state_, version_)) return;
  auto request = ListRequest();
  request.Query("watch", "true").Query("resourceVersion", version_);
  request.Query("allowWatchBookmarks", random_.OneIn(2) ? "true" : "false");
  request.Query("timeoutSeconds", std::to_string(1 + random_.Below(2)));
  const auto reader = WatchReader::Start(client_, std::move(request));
  tally_.CountStream();
  // Now and then the stream is dropped in the middle, as clients do that go away.
  const auto enough = random_.OneIn(3) ? random_.Below(50) : ~std::uint64_t{0};
  std::uint64_t seen = 0;
  while (seen < enough && !version_.empty()) {
    const auto event = reader->Next();
    if (!event) break;
    Take(*event);
    ++seen;
  }
  tally_.CountEvents(static_cast<long>(seen));
  reader->Cancel();
  if (const auto status = reader->status(); !status && seen < enough && !version_.empty()) {
    // Too old a version may also be said by the answer itself.
    if (status.error().code() != 410 && !status.error().Is(Reason::kCancelled))
      tally_.Problem(name_ + ": the stream broke: " + status.error().ToString());
    version_.clear();
  }
}

}  // namespace flyball::load
