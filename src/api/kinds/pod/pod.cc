#include "api/kinds/pod/pod_defaults.h"
#include "api/kinds/pod/pod_update.h"
#include "api/kinds/pod/pod_warnings.h"
#include "api/kinds/pod_spec/pod_annotations.h"
#include "api/kinds/pod_spec/pod_spec.h"
#include "api/kinds/shared/hooks.h"
#include "api/rules/access.h"
#include "api/schema/feature_gates.h"

namespace flyball::api {
namespace {

using json::Value;

constexpr std::int64_t kDefaultGraceSeconds = 30;

void PreparePodForCreate(Value& pod) {
  if (GateEnabled("PodLevelResourcesFixDefaulting")) SetPodLevelDefaults(pod);
  SetAppArmorProfiles(pod);
  Value& spec = pod["spec"];
  if (Number(spec, "terminationGracePeriodSeconds") < 0) spec["terminationGracePeriodSeconds"] = 1;
  Value status = json::Object{{"phase", "Pending"}};
  status["qosClass"] = PodQosClass(spec);
  if (Get(spec, "schedulingGates").size() > 0) {
    status["conditions"] =
        json::Array{json::Object{{"type", "PodScheduled"},
                                 {"status", "False"},
                                 {"lastProbeTime", nullptr},
                                 {"lastTransitionTime", nullptr},
                                 {"reason", "SchedulingGated"},
                                 {"message", "Scheduling is blocked due to non-empty scheduling gates"}}};
  }
  pod["status"] = std::move(status);
}

void PreparePodForUpdate(Value& pod, const Value& old) {
  if (Has(old, "status")) pod["status"] = old["status"];
  Value& spec = pod["spec"];
  if (Number(spec, "terminationGracePeriodSeconds") < 0) spec["terminationGracePeriodSeconds"] = 1;
}

// Old nodes leave the class out and spoil the owners.
void PreparePodForStatusUpdate(Value& pod, const Value& old) {
  Value& metadata = pod["metadata"];
  if (Has(old["metadata"], "ownerReferences")) {
    metadata["ownerReferences"] = old["metadata"]["ownerReferences"];
  } else {
    metadata.as_object().Erase("ownerReferences");
  }
  const Value& before = old["status"];
  if (Text(pod["status"], "qosClass").empty() && Has(before, "qosClass"))
    pod["status"]["qosClass"] = before["qosClass"];
}

// Containers of a pod, unlike those of a template, may not have an image with blanks around its name.
void ValidateImages(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  for (const char* list : {"containers", "initContainers"}) {
    const Value& containers = spec[list];
    for (std::size_t i = 0; i < containers.size(); ++i) {
      const std::string_view image = Text(containers.as_array()[i], "image");
      const bool padded = !image.empty() && (image.find_first_of(" \t\n\r\v\f") == 0 ||
                                             image.find_last_of(" \t\n\r\v\f") == image.size() - 1);
      if (!padded) continue;
      errors.Invalid(path.Child(list).Index(i).Child("image"), image,
                     "must not have leading or trailing whitespace");
    }
  }
}

void ValidateTokens(const Value& spec, const FieldPath& path, FieldErrors& errors) {
  if (!Text(spec, "serviceAccountName").empty()) return;
  const Value& volumes = spec["volumes"];
  for (std::size_t i = 0; i < volumes.size(); ++i) {
    const Value& sources = volumes.as_array()[i]["projected"]["sources"];
    for (std::size_t j = 0; j < sources.size(); ++j) {
      if (!Has(sources.as_array()[j], "serviceAccountToken")) continue;
      errors.Forbidden(path.Child("volumes")
                           .Index(i)
                           .Child("projected")
                           .Child("sources")
                           .Index(j)
                           .Child("serviceAccountToken"),
                       "must not be specified when serviceAccountName is not set");
    }
  }
}

void ValidatePod(const Value& pod, FieldErrors& errors) {
  const FieldPath path("spec");
  const Value& spec = pod["spec"];
  const Value& metadata = pod["metadata"];
  ValidatePodAnnotations(metadata["annotations"], spec, FieldPath("metadata.annotations"), errors);
  PodContext context;
  context.is_pod = true;
  context.pod_name = Text(metadata, "name");
  ValidatePodSpec(spec, std::move(context), path, errors);
  ValidateTokens(spec, path, errors);
  ValidateImages(spec, path, errors);
  const bool created = IsZero(metadata["resourceVersion"]);
  if (!created) return;
  if (spec["ephemeralContainers"].size() > 0) {
    errors.Forbidden(path.Child("ephemeralContainers"), "cannot be set on create");
  }
  if (!Text(spec, "nodeName").empty() && spec["schedulingGates"].size() > 0) {
    errors.Forbidden(path.Child("nodeName"), "cannot be set until all schedulingGates have been cleared");
  }
  ValidateProfileAnnotations(metadata["annotations"], spec, path, errors);
}

std::int64_t GraceSeconds(const Value& pod, std::optional<std::int64_t> asked) {
  const Value& spec = pod["spec"];
  const std::string_view phase = Text(pod["status"], "phase");
  const bool finished = phase == "Succeeded" || phase == "Failed";
  if (Text(spec, "nodeName").empty() || finished) return 0;
  const std::int64_t seconds =
      asked ? *asked : Number(spec, "terminationGracePeriodSeconds", kDefaultGraceSeconds);
  return seconds < 0 ? 1 : seconds;
}

}  // namespace

const KindHooks kPodHooks = {
    .group = "",
    .kind = "Pod",
    .set_defaults = SetPodDefaults,
    .prepare_for_create = PreparePodForCreate,
    .prepare_for_update = PreparePodForUpdate,
    .prepare_for_status_update = PreparePodForStatusUpdate,
    .validate = ValidatePod,
    .validate_update = ValidatePodUpdate,
    .validate_status_update = ValidatePodStatusUpdate,
    .prepare_for_part_update = PreparePodPart,
    .validate_part_update = ValidatePodPart,
    .generation = true,
    .return_deleted_object = true,
    .warnings = WarnOfPod,
    .warn_on = KindHooks::WarnOn::kCreate,
    .name_warning = "this is used in the Pod's hostname, which can result in surprising behavior",
    .grace_seconds = GraceSeconds,
};

}  // namespace flyball::api
