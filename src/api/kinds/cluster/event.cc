#include <string>

#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"
#include "api/rules/object_meta.h"

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

// `reporter`: what the version that the event is written in calls the controller that reports it.
void ValidateReporter(const Value& event, std::string_view reporter, FieldErrors& errors) {
  const FieldPath path{std::string(reporter)};
  const std::string_view controller = Text(event, "reportingComponent");
  if (controller.empty()) errors.Required(path);
  CheckFormat("qualified-name", controller, path, errors);
  RequireShort(event, "reportingInstance", errors);
  RequireShort(event, "action", errors);
  RequireShort(event, "reason", errors);
  CheckLength(Text(event, "message"), kMaxNote, FieldPath("message"), errors);
}

void ValidateAnyEvent(const Value& event, std::string_view reporter, FieldErrors& errors) {
  const std::string_view ns = Text(event["metadata"], "namespace");
  const std::string_view about = Text(event["involvedObject"], "namespace");
  const bool with_time = Has(event, "eventTime");
  if (!NamespacesAgree(ns, about, with_time)) {
    errors.Invalid(FieldPath("involvedObject.namespace"), about, "does not match event.namespace");
  }
  if (with_time) ValidateReporter(event, reporter, errors);
}

void ValidateEvent(const Value& event, FieldErrors& errors) {
  ValidateAnyEvent(event, "reportingComponent", errors);
}

void ValidateSeries(const Value& event, FieldErrors& errors) {
  const Value& series = event["series"];
  if (series.is_null()) return;
  if (Number(series, "count") < 2) errors.Invalid(FieldPath("series.count"), "", "should be at least 2");
  if (!Has(series, "lastObservedTime")) errors.Required(FieldPath("series.lastObservedTime"));
}

void RequireUnset(const Value& event, const char* field, FieldErrors& errors) {
  const auto* value = event.Find(field);
  if (value != nullptr && !IsZero(*value)) errors.Invalid(FieldPath(field), "", "needs to be unset");
}

// What events.k8s.io/v1 asks of a new event besides. The stored form, that of core/v1, is what is looked at.
void ValidateNewEvent(const Value& event, FieldErrors& errors) {
  ValidateSeries(event, errors);
  if (!Has(event, "eventTime")) errors.Required(FieldPath("eventTime"));
  const std::string_view type = Text(event, "type");
  if (type != "Normal" && type != "Warning") {
    errors.Invalid(FieldPath("type"), "", "has invalid value: " + std::string(type));
  }
  for (const char* field : {"firstTimestamp", "lastTimestamp", "count", "source"})
    RequireUnset(event, field, errors);
}

void ValidateEvents(const Value& event, FieldErrors& errors) {
  ValidateAnyEvent(event, "reportingController", errors);
  if (IsZero(event["metadata"]["resourceVersion"])) ValidateNewEvent(event, errors);
}

void ValidateEventsUpdate(const Value& event, const Value& old, FieldErrors& errors) {
  if (event["series"] != old["series"]) ValidateSeries(event, errors);
  for (const char* field : {"involvedObject", "reason", "message", "source", "firstTimestamp",
                            "lastTimestamp", "count", "reason", "type", "eventTime", "action", "related"})
    ValidateUnchanged(event[field], old[field], FieldPath(field), errors);
  ValidateUnchanged(event["reportingComponent"], old["reportingComponent"], FieldPath("reportingController"),
                    errors);
  ValidateUnchanged(event["reportingInstance"], old["reportingInstance"], FieldPath("reportingInstance"),
                    errors);
}

}  // namespace

const KindHooks kEventHooks = {
    .group = "",
    .kind = "Event",
    .validate = ValidateEvent,
    .metadata_last = true,
    .allow_create_on_update = true,
};

const KindHooks kEventsEventHooks = {
    .group = "events.k8s.io",
    .kind = "Event",
    .validate = ValidateEvents,
    .validate_update = ValidateEventsUpdate,
    .allow_create_on_update = true,
};

}  // namespace flyball::api
