#include <memory>

#include "api/select/selector.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/create/create_options.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/verbs.h"

namespace flyball::cli {

json::Value Container(const std::string& name, const std::string& image, const char* field,
                      const std::vector<std::string>& words) {
  json::Value container;
  if (!words.empty()) container[field] = json::Array(words.begin(), words.end());
  container["image"] = image;
  container["name"] = name;
  container["resources"] = json::Object();
  return container;
}

namespace {

struct CreateWorkloadsFlags {
  CreateOptions options;
  std::vector<std::string> args, images;
  std::string image, schedule, restart, from, selector, min_available, max_unavailable;
  std::optional<std::int64_t> replicas, port;
};
using CreateWorkloadsFlagsPtr = std::shared_ptr<CreateWorkloadsFlags>;

// "registry/team/nginx:1.25@sha256:..." -> "nginx".
std::string ContainerName(const std::string& image) {
  std::string name = image.substr(image.rfind('/') + 1);
  return name.substr(0, name.find_first_of(":@"));
}

Result<json::Value> NewDeployment(const Session& session, const CreateWorkloadsFlags& flags,
                                  const std::vector<std::string>& command) {
  FLYBALL_ASSIGN(const std::string name, OneName(session, flags.args));
  if (flags.images.empty()) return Unexpected(LocalError("required flag(s) \"image\" not set"));
  json::Value object = NewObject("apps/v1", "Deployment", name);
  object["metadata"]["labels"]["app"] = name;
  json::Value& spec = object["spec"];
  spec["replicas"] = static_cast<long long>(flags.replicas.value_or(1));
  spec["selector"]["matchLabels"]["app"] = name;
  spec["strategy"] = json::Object();
  json::Value& tmpl = spec["template"];
  tmpl["metadata"]["creationTimestamp"] = nullptr;
  tmpl["metadata"]["labels"]["app"] = name;
  json::Array containers;
  for (const std::string& image : flags.images) {
    json::Value container = Container(ContainerName(image), image, "command", command);
    if (flags.port)
      container["ports"] = json::Array{json::Object{{"containerPort", static_cast<long long>(*flags.port)}}};
    containers.push_back(std::move(container));
  }
  tmpl["spec"]["containers"] = std::move(containers);
  object["status"] = json::Object();
  return object;
}

json::Value JobSpec(const std::string& name, const CreateWorkloadsFlags& flags,
                    const std::vector<std::string>& command, const char* restart) {
  json::Value spec;
  json::Value& tmpl = spec["template"];
  tmpl["metadata"]["creationTimestamp"] = nullptr;
  tmpl["spec"]["containers"] = json::Array{Container(name, flags.image, "command", command)};
  tmpl["spec"]["restartPolicy"] = flags.restart.empty() ? restart : flags.restart.c_str();
  return spec;
}

Result<json::Value> JobFromCronJob(Session& session, const CreateWorkloadsFlags& flags,
                                   const std::string& name) {
  FLYBALL_ASSIGN(const auto objects, ResolveObjects(session, {flags.from}, {}));
  FLYBALL_ASSIGN(const json::Value cron, session.Get(objects[0].kind, objects[0].ns, objects[0].name));
  if (objects[0].kind.kind != "CronJob")
    return Unexpected(LocalError("unknown object type " + objects[0].kind.kind));
  json::Value job = NewObject("batch/v1", "Job", name);
  const json::Value& tmpl = cron["spec"]["jobTemplate"];
  if (tmpl["metadata"]["annotations"].is_object())
    job["metadata"]["annotations"] = tmpl["metadata"]["annotations"];
  job["metadata"]["annotations"]["cronjob.kubernetes.io/instantiate"] = "manual";
  if (tmpl["metadata"]["labels"].is_object()) job["metadata"]["labels"] = tmpl["metadata"]["labels"];
  job["metadata"]["ownerReferences"] = json::Array{json::Object{{"apiVersion", "batch/v1"},
                                                                {"controller", true},
                                                                {"kind", "CronJob"},
                                                                {"name", cron["metadata"]["name"]},
                                                                {"uid", cron["metadata"]["uid"]}}};
  job["spec"] = tmpl["spec"];
  job["status"] = json::Object();
  return job;
}

Command BeginWorkload(const Command& create, const std::string& names, const std::string& summary,
                      const std::string& example, const CreateWorkloadsFlagsPtr& flags) {
  const Command command = create.Sub(names, summary, example);
  command.TakesCommand();
  command.Args("NAME", &flags->args, "Name of the new object");
  flags->options.AddTo(command);
  return command;
}

void AddDeployment(const Command& create) {
  auto flags = std::make_shared<CreateWorkloadsFlags>();
  const Command command =
      BeginWorkload(create, "deployment,deploy", "Create a Deployment",
                    "flyball create deployment web --image=host --replicas=2 -- sleep 1000", flags);
  command.Option("--image", &flags->images, "Image of a container; may be repeated");
  command.Option("-r,--replicas", &flags->replicas, "How many pods; 1 if absent");
  command.Option("--port", &flags->port, "Port the container serves");
  Invocation& invocation = command.invocation();
  RunVerb(command, [flags, &invocation](Session& session) -> Status {
    FLYBALL_ASSIGN(json::Value object, NewDeployment(session, *flags, invocation.after_dashes));
    return CreateObject(session, flags->options, std::move(object));
  });
}

void AddJobs(const Command& create) {
  auto job = std::make_shared<CreateWorkloadsFlags>();
  const Command job_command =
      BeginWorkload(create, "job", "Create a Job", "flyball create job once --image=host -- date", job);
  job_command.Option("--image", &job->image, "Image of the container");
  job_command.Option("--from", &job->from, "cronjob/NAME to make it from");
  Invocation& invocation = create.invocation();
  RunVerb(job_command, [job, &invocation](Session& session) -> Status {
    FLYBALL_ASSIGN(const std::string name, OneName(session, job->args));
    if (!job->from.empty()) {
      FLYBALL_ASSIGN(json::Value object, JobFromCronJob(session, *job, name));
      return CreateObject(session, job->options, std::move(object));
    }
    if (job->image.empty()) return Unexpected(LocalError("either --image or --from must be specified"));
    json::Value object = NewObject("batch/v1", "Job", name);
    object["spec"] = JobSpec(name, *job, invocation.after_dashes, "Never");
    object["status"] = json::Object();
    return CreateObject(session, job->options, std::move(object));
  });
  auto cron = std::make_shared<CreateWorkloadsFlags>();
  const Command cron_command =
      BeginWorkload(create, "cronjob,cj", "Create a CronJob",
                    "flyball create cronjob tick --image=host --schedule='*/5 * * * *' -- date", cron);
  cron_command.Option("--image", &cron->image, "Image of the container");
  cron_command.Option("--schedule", &cron->schedule, "When, in cron's five fields");
  cron_command.Required("--image").Required("--schedule");
  cron_command.Option("--restart", &cron->restart, "OnFailure or Never");
  RunVerb(cron_command, [cron, &invocation](Session& session) -> Status {
    FLYBALL_ASSIGN(const std::string name, OneName(session, cron->args));
    json::Value object = NewObject("batch/v1", "CronJob", name);
    json::Value& tmpl = object["spec"]["jobTemplate"];
    tmpl["metadata"]["creationTimestamp"] = nullptr;
    tmpl["metadata"]["name"] = name;
    tmpl["spec"] = JobSpec(name, *cron, invocation.after_dashes, "OnFailure");
    object["spec"]["schedule"] = cron->schedule;
    object["status"] = json::Object();
    return CreateObject(session, cron->options, std::move(object));
  });
}

// "a=b,c in (d,e)" as the LabelSelector of an object.
Result<json::Value> SelectorOf(const std::string& text) {
  using Operator = api::LabelSelector::Operator;
  auto parsed = api::LabelSelector::Parse(text);
  if (!parsed) return Unexpected(LocalError(parsed.error().message()));
  json::Value selector = json::Object();
  for (const auto& requirement : parsed->requirements()) {
    const char* word = nullptr;
    if (requirement.op == Operator::kEquals || requirement.op == Operator::kDoubleEquals) {
      selector["matchLabels"][requirement.key] = requirement.values.front();
      continue;
    }
    if (requirement.op == Operator::kIn) word = "In";
    if (requirement.op == Operator::kNotIn) word = "NotIn";
    if (requirement.op == Operator::kExists) word = "Exists";
    if (requirement.op == Operator::kDoesNotExist) word = "DoesNotExist";
    if (!word) return Unexpected(LocalError("\"" + text + "\" is not a valid label selector"));
    json::Value expression = json::Object{{"key", requirement.key}, {"operator", word}};
    if (!requirement.values.empty())
      expression["values"] = json::Array(requirement.values.begin(), requirement.values.end());
    if (!std::as_const(selector)["matchExpressions"].is_array()) selector["matchExpressions"] = json::Array();
    selector["matchExpressions"].as_array().push_back(std::move(expression));
  }
  return selector;
}

void AddDisruptionBudget(const Command& create) {
  auto flags = std::make_shared<CreateWorkloadsFlags>();
  const Command command = BeginWorkload(create, "poddisruptionbudget,pdb", "Create a PodDisruptionBudget",
                                        "flyball create pdb web --selector=app=web --min-available=1", flags);
  command.Option("--selector", &flags->selector, "Labels of the pods");
  command.Option("--min-available", &flags->min_available, "A number or a percentage");
  command.Option("--max-unavailable", &flags->max_unavailable, "A number or a percentage");
  RunVerb(command, [flags](Session& session) -> Status {
    FLYBALL_ASSIGN(const std::string name, OneName(session, flags->args));
    if (flags->selector.empty()) return Unexpected(LocalError("a selector must be specified"));
    if (flags->min_available.empty() && flags->max_unavailable.empty())
      return Unexpected(LocalError("one of min-available or max-unavailable must be specified"));
    if (!flags->min_available.empty() && !flags->max_unavailable.empty())
      return Unexpected(LocalError("min-available and max-unavailable cannot be both specified"));
    FLYBALL_ASSIGN(json::Value selector, SelectorOf(flags->selector));
    const auto amount = [](const std::string& text) {
      return text.back() == '%' ? json::Value(text) : json::Value(std::stoi(text));
    };
    json::Value object = NewObject("policy/v1", "PodDisruptionBudget", name);
    object["spec"]["selector"] = std::move(selector);
    if (!flags->min_available.empty()) object["spec"]["minAvailable"] = amount(flags->min_available);
    if (!flags->max_unavailable.empty()) object["spec"]["maxUnavailable"] = amount(flags->max_unavailable);
    for (const char* count : {"currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"})
      object["status"][count] = 0;
    return CreateObject(session, flags->options, std::move(object));
  });
}

}  // namespace

void AddWorkloadCreators(const Command& create) {
  AddDeployment(create);
  AddJobs(create);
  AddDisruptionBudget(create);
}

}  // namespace flyball::cli
