#include "net/http/http.h"

#include <algorithm>

#include "base/run/notification.h"
#include "base/values/ascii.h"

namespace flyball::net {

namespace {

char Lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

// `stored` is lower case already.
bool SameName(std::string_view stored, std::string_view name) {
  return stored.size() == name.size() &&
         std::equal(stored.begin(), stored.end(), name.begin(), [](char a, char b) { return a == Lower(b); });
}

// Collects a whole answer and hands it to whoever waits.
class CollectingSink final : public ResponseSink {
 public:
  void OnHead(int status, const Headers& headers) override {
    response_.status = status;
    response_.headers = headers;
  }
  void OnData(std::string_view data) override { response_.body.append(data); }
  void OnEnd() override { done_.Set(std::move(response_)); }
  void OnError(const Error& error) override { done_.Set(Unexpected(error)); }

  void TimeOut() { done_.Set(Unexpected(Error(Reason::kTimeout, "the request timed out"))); }
  Result<Response> Wait() { return done_.Wait(); }

 private:
  Response response_;
  Notification<Result<Response>> done_;
};

}  // namespace

Headers::Headers(std::initializer_list<std::pair<std::string, std::string>> fields) {
  fields_.reserve(fields.size());
  for (const auto& [name, value] : fields) Add(name, value);
}

void Headers::Add(std::string_view name, std::string value) {
  fields_.emplace_back(LowerCase(name), std::move(value));
}

void Headers::Set(std::string_view name, std::string value) {
  Remove(name);
  Add(name, std::move(value));
}

void Headers::Remove(std::string_view name) {
  std::erase_if(fields_, [name](const auto& field) { return SameName(field.first, name); });
}

std::string_view Headers::Get(std::string_view name) const {
  for (const auto& [key, value] : fields_)
    if (SameName(key, name)) return value;
  return {};
}

bool Headers::Has(std::string_view name) const {
  return std::any_of(begin(), end(), [name](const auto& field) { return SameName(field.first, name); });
}

std::vector<std::string_view> Headers::GetAll(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const auto& [key, value] : fields_)
    if (SameName(key, name)) values.push_back(value);
  return values;
}

Result<Response> RoundTrip(Transport& transport, Request request, Executor& executor, Duration timeout) {
  auto sink = std::make_shared<CollectingSink>();
  auto call = transport.Start(std::move(request), sink);
  if (timeout <= Duration::zero()) return sink->Wait();
  const TimerId timer = executor.PostAfter(timeout, [sink, call] {
    sink->TimeOut();
    call->Cancel();
  });
  auto response = sink->Wait();
  executor.Cancel(timer);
  return response;
}

}  // namespace flyball::net
