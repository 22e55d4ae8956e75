#include <string>

#include "api/format.h"
#include "api/kinds/access.h"
#include "api/kinds/checks.h"
#include "api/kinds/hooks.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::size_t kEventMaxName = 128;
constexpr std::size_t kMaxNote = 1024;

void CheckLength(std::string_view text, std::size_t max, const FieldPath& path, FieldErrors& errors) {
  if (text.size() > max) errors.Invalid(path, "", "can have at most " + std::to_string(max) + " characters");
}

void RequireShort(const Value& object, const char* field, FieldErrors& errors) {
  if (Text(object, field).empty()) errors.Required(FieldPath(field));
  CheckLength(Text(object, field), kEventMaxName, FieldPath(field), errors);
}

// Where an event is about something without a namespace, it lives in the default one.
bool NamespacesAgree(std::string_view ns, std::string_view regarding, bool with_time) {
  if (!regarding.empty()) return with_time || ns == regarding;
  return ns.empty() || ns == "default" || (with_time && ns == "kube-system");
}

void ValidateReporter(const Value& object, const char* controller, const char* note, FieldErrors& errors) {
  if (Text(object, controller).empty()) errors.Required(FieldPath(controller));
  CheckFormat("qualified-name", Text(object, controller), FieldPath(controller), errors);
  RequireShort(object, "reportingInstance", errors);
  RequireShort(object, "action", errors);
  RequireShort(object, "reason", errors);
  CheckLength(Text(object, note), kMaxNote, FieldPath("message"), errors);
}

void ValidateAs(const Value& object, const char* regarding, const char* controller, const char* note,
                FieldErrors& errors) {
  const std::string_view ns = Text(object["metadata"], "namespace");
  const std::string_view about = Text(object[regarding], "namespace");
  const bool with_time = Has(object, "eventTime");
  if (!NamespacesAgree(ns, about, with_time)) {
    errors.Invalid(FieldPath("involvedObject.namespace"), about, "does not match event.namespace");
  }
  if (with_time) ValidateReporter(object, controller, note, errors);
  CheckFormat("dns-subdomain", ns, FieldPath("namespace"), errors);
}

void ValidateCore(const Value& object, FieldErrors& errors) {
  ValidateAs(object, "involvedObject", "reportingComponent", "message", errors);
}

void ValidateEvents(const Value& object, FieldErrors& errors) {
  ValidateAs(object, "regarding", "reportingController", "note", errors);
  if (IsZero(object["metadata"]["resourceVersion"])) {
    if (!Has(object, "eventTime")) errors.Required(FieldPath("eventTime"));
    RequireOneOf(Text(object, "type"), {"Normal", "Warning"}, FieldPath("type"), errors);
  }
}

}  // namespace

const KindHooks kEventHooks = {
    .group = "",
    .kind = "Event",
    .validate = ValidateCore,
    .allow_create_on_update = true,
};

const KindHooks kEventsEventHooks = {
    .group = "events.k8s.io",
    .kind = "Event",
    .validate = ValidateEvents,
    .allow_create_on_update = true,
};

}  // namespace flyball::api
