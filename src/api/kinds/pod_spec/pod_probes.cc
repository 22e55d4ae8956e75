#include <string>

#include "api/kinds/pod_spec/pod_spec.h"
#include "api/rules/access.h"
#include "api/rules/checks.h"
#include "api/rules/format.h"

namespace flyball::api {
namespace {

using json::Value;

void ValidateHttpGet(const Value& http, const FieldPath& path, FieldErrors& errors) {
  RequireMembers(http, {"path"}, path, errors);
  CheckPortNumberOrName(http["port"], path.Child("port"), errors);
  CheckOneOf(Text(http, "scheme"), {"HTTP", "HTTPS"}, path.Child("scheme"), errors);
  for (const Value& header : Items(http["httpHeaders"])) {
    CheckFormat("http-header-name", Text(header, "name"), path.Child("httpHeaders"), errors);
  }
}

void ValidateSleep(const Value& sleep, const PodContext& context, const FieldPath& path,
                   FieldErrors& errors) {
  if (context.grace_seconds == nullptr) return;
  const std::int64_t seconds = Number(sleep, "seconds");
  const std::int64_t grace = context.grace_seconds->int_or(0);
  if (seconds >= 0 && seconds <= grace) return;
  errors.Invalid(
      path, seconds,
      "must be non-negative and less than terminationGracePeriodSeconds (" + std::to_string(grace) + ")");
}

void ValidateAction(std::string_view name, const Value& action, const PodContext& context,
                    const FieldPath& path, FieldErrors& errors) {
  if (name == "exec") {
    RequireMembers(action, {"command"}, path, errors);
  } else if (name == "httpGet") {
    ValidateHttpGet(action, path, errors);
  } else if (name == "sleep") {
    ValidateSleep(action, context, path, errors);
  } else {
    CheckPortNumberOrName(action["port"], path.Child("port"), errors);
  }
}

// Exactly one action: exec, httpGet, tcpSocket, grpc or sleep.
void ValidateHandler(const Value& handler, const PodContext& context, const FieldPath& path,
                     FieldErrors& errors) {
  bool found = false;
  for (const char* name : {"exec", "httpGet", "tcpSocket", "grpc", "sleep"}) {
    const Value& action = handler[name];
    if (action.is_null()) continue;
    if (found) {
      errors.Forbidden(path.Child(name), "may not specify more than 1 handler type");
    } else {
      ValidateAction(name, action, context, path.Child(name), errors);
    }
    found = true;
  }
  if (!found) errors.Required(path, "must specify a handler type");
}

void ValidateProbe(const Value& probe, const PodContext& context, const FieldPath& path,
                   FieldErrors& errors) {
  ValidateHandler(probe, context, path, errors);
  CheckNotNegative(
      probe,
      {"initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"},
      path, errors);
  const Value& grace = probe["terminationGracePeriodSeconds"];
  if (!grace.is_null() && grace.int_or(0) <= 0) {
    errors.Invalid(path.Child("terminationGracePeriodSeconds"), grace, "must be greater than 0");
  }
}

}  // namespace

void ValidateProbes(const Value& container, const PodContext& context, const FieldPath& path,
                    FieldErrors& errors) {
  for (const std::string_view name : {"livenessProbe", "readinessProbe", "startupProbe"}) {
    const Value& probe = container[name];
    if (probe.is_null()) continue;
    const FieldPath here = path.Child(name);
    ValidateProbe(probe, context, here, errors);
    if (name == "readinessProbe") {
      const Value& grace = probe["terminationGracePeriodSeconds"];
      if (!grace.is_null()) {
        errors.Invalid(here.Child("terminationGracePeriodSeconds"), grace,
                       "must not be set for readinessProbes");
      }
    } else if (Number(probe, "successThreshold") != 1) {
      errors.Invalid(here.Child("successThreshold"), Number(probe, "successThreshold"), "must be 1");
    }
  }
}

void ValidateLifecycle(const Value& lifecycle, const PodContext& context, const FieldPath& path,
                       FieldErrors& errors) {
  for (const char* name : {"postStart", "preStop"}) {
    if (Has(lifecycle, name)) ValidateHandler(lifecycle[name], context, path.Child(name), errors);
  }
}

}  // namespace flyball::api
