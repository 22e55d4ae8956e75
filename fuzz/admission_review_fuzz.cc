// The input is what a webhook answers: read as every kind of review, its patch applied, its refusal worded.
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/wire/status.h"
#include "json/json.h"
#include "json/patch.h"
#include "server/admission/webhooks/admission_review.h"

using namespace flyball;

namespace {

void Try(std::string_view body, std::string_view version, bool mutating) {
  static const json::Value object =
      *json::Parse(R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m"},"data":{"a":"b"}})");
  const auto answer = server::ReadAdmissionAnswer(body, version, "id", mutating);
  if (!answer) {
    if (answer.error().message().empty()) std::abort();
    return;
  }
  if (!mutating && !answer->patch.is_null()) std::abort();
  if (answer->allowed) {
    if (const auto patched = json::ApplyJsonPatch(object, answer->patch);
        patched && !json::Parse(json::Write(*patched)))
      std::abort();
    return;
  }
  std::string reason;
  const Error refusal = server::WebhookRejection("w.example.com", answer->result, reason);
  if (refusal.code() < 400 ||
      !refusal.message().starts_with("admission webhook \"w.example.com\" denied the request"))
    std::abort();
  json::Write(api::StatusFromError(refusal));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  for (const bool mutating : {false, true})
    for (const std::string_view version : {"v1", "v1beta1"}) Try(body, version, mutating);
  return 0;
}
