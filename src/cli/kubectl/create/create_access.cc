#include <memory>
#include <set>

#include "api/values/duration.h"
#include "base/values/ascii.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/create/create_options.h"
#include "cli/kubectl/session/resource_args.h"
#include "cli/kubectl/session/subjects.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

struct CreateAccessFlags {
  CreateOptions options;
  std::vector<std::string> args, verbs, resources, resource_names, urls;
  SubjectFlags subjects;
  std::string role, cluster_role, aggregation;
};

std::vector<std::string> Flatten(const std::vector<std::string>& lists) {
  std::vector<std::string> out;
  for (const std::string& list : lists)
    for (std::string& item : SplitText(list, ','))
      if (!item.empty()) out.push_back(std::move(item));
  return out;
}

json::Value Strings(const std::vector<std::string>& texts) {
  json::Array list;
  for (const std::string& text : texts) list.emplace_back(text);
  return list;
}

// "nopes", or "nopes" in group "example.com".
std::string QuotedType(const std::string& text) {
  const std::size_t dot = text.find('.');
  return "\"" + text.substr(0, dot) + "\"" +
         (dot == std::string::npos ? "" : " in group \"" + text.substr(dot + 1) + "\"");
}

// One rule per API group, as kubectl creates them.
Result<json::Array> RulesOf(Session& session, const CreateAccessFlags& flags) {
  std::vector<std::pair<std::string, std::vector<std::string>>> by_group;
  for (const std::string& text : Flatten(flags.resources)) {
    const std::size_t slash = text.find('/');
    std::string group = "*", resource = "*";
    if (text != "*" && text != "*.*") {
      const std::string name = text.substr(0, slash);
      const auto kind = session.mapper().ForResource(name);
      if (!kind) return Unexpected(PlainError("the server doesn't have a resource type " + QuotedType(name)));
      group = kind->group;
      resource = kind->plural + (slash == std::string::npos ? "" : text.substr(slash));
    }
    auto at = by_group.begin();
    while (at != by_group.end() && at->first != group) ++at;
    if (at == by_group.end()) at = by_group.insert(at, {group, {}});
    at->second.push_back(resource);
  }
  json::Array rules;
  for (const auto& [group, resources] : by_group) {
    json::Value rule;
    rule["apiGroups"] = json::Array{group};
    if (!flags.resource_names.empty()) rule["resourceNames"] = Strings(Flatten(flags.resource_names));
    rule["resources"] = Strings(resources);
    rule["verbs"] = Strings(Flatten(flags.verbs));
    rules.push_back(std::move(rule));
  }
  return rules;
}

Status CheckRole(Session& session, const CreateAccessFlags& flags, bool cluster) {
  static const std::set<std::string> kStandard{
      "*",   "get",  "list",     "watch",      "create", "update", "patch", "delete", "deletecollection",
      "use", "bind", "escalate", "impersonate"};
  if (flags.verbs.empty()) return Unexpected(LocalError("at least one verb must be specified"));
  if (cluster && flags.resources.empty() && flags.urls.empty())
    return Unexpected(LocalError("one of resource or nonResourceURL must be specified"));
  if (!cluster && flags.resources.empty())
    return Unexpected(LocalError("at least one resource must be specified"));
  if (flags.urls.empty())
    for (const std::string& verb : Flatten(flags.verbs))
      if (!kStandard.contains(verb))
        session.err() << "Warning: '" << verb << "' is not a standard resource verb\n";
  return {};
}

// What a ClusterRole that is the sum of others selects: "a=b,c=d".
Result<json::Value> Aggregation(const std::string& text) {
  FLYBALL_ASSIGN(json::Object labels, ParsePairs(text));
  json::Value rule;
  rule["clusterRoleSelectors"] = json::Array{json::Object{{"matchLabels", std::move(labels)}}};
  return rule;
}

Result<json::Value> NewRole(Session& session, const CreateAccessFlags& flags, const char* kind) {
  FLYBALL_ASSIGN(const std::string name, OneName(session, flags.args));
  json::Value object = NewObject("rbac.authorization.k8s.io/v1", kind, name);
  if (!flags.aggregation.empty()) {
    FLYBALL_ASSIGN(object["aggregationRule"], Aggregation(flags.aggregation));
    object["rules"] = nullptr;
    return object;
  }
  FLYBALL_TRY(CheckRole(session, flags, std::string_view(kind) == "ClusterRole"));
  FLYBALL_ASSIGN(json::Array rules, RulesOf(session, flags));
  if (!flags.urls.empty())
    rules.emplace_back(json::Object{{"nonResourceURLs", Strings(Flatten(flags.urls))},
                                    {"verbs", Strings(Flatten(flags.verbs))}});
  object["rules"] = std::move(rules);
  return object;
}

void AddRole(const Command& create, const std::string& name, const char* kind) {
  auto flags = std::make_shared<CreateAccessFlags>();
  const Command command = create.Sub(name, std::string("Create a ") + kind,
                                     "flyball create " + name + " reader --verb=get,list --resource=pods");
  command.Args("NAME", &flags->args, "Name of the new object");
  flags->options.AddTo(command);
  command.Option("--verb", &flags->verbs, "What is allowed");
  command.Option("--resource", &flags->resources, "On what");
  command.Option("--resource-name", &flags->resource_names, "Only on objects of these names");
  if (std::string_view(kind) == "ClusterRole") {
    command.Option("--non-resource-url", &flags->urls, "On paths that are no objects: /healthz");
    command.Option("--aggregation-rule", &flags->aggregation,
                   "The sum of the ClusterRoles with these labels");
  }
  RunVerb(command, [flags, kind](Session& session) -> Status {
    FLYBALL_ASSIGN(json::Value object, NewRole(session, *flags, kind));
    return CreateObject(session, flags->options, std::move(object));
  });
}

void AddBinding(const Command& create, const std::string& name, const char* kind) {
  auto flags = std::make_shared<CreateAccessFlags>();
  const Command command = create.Sub(name, std::string("Create a ") + kind,
                                     "flyball create " + name + " b --clusterrole=view --user=jo");
  command.Args("NAME", &flags->args, "Name of the new object");
  flags->options.AddTo(command);
  command.Option("--role", &flags->role, "The Role");
  command.Option("--clusterrole", &flags->cluster_role, "The ClusterRole");
  if (std::string_view(kind) == "ClusterRoleBinding") command.Required("--clusterrole");
  command.Option("--user", &flags->subjects.users, "To a user; may be repeated");
  command.Option("--group", &flags->subjects.groups, "To a group; may be repeated");
  command.Option("--serviceaccount", &flags->subjects.service_accounts, "To namespace:name; may be repeated");
  RunVerb(command, [flags, kind](Session& session) -> Status {
    FLYBALL_ASSIGN(const std::string object_name, OneName(session, flags->args));
    FLYBALL_ASSIGN(json::Array subjects, SubjectsOf(flags->subjects));
    if (flags->role.empty() == flags->cluster_role.empty())
      return Unexpected(LocalError("exactly one of clusterrole or role must be specified"));
    json::Value object = NewObject("rbac.authorization.k8s.io/v1", kind, object_name);
    json::Value& ref = object["roleRef"];
    ref["apiGroup"] = "rbac.authorization.k8s.io";
    ref["kind"] = flags->role.empty() ? "ClusterRole" : "Role";
    ref["name"] = flags->role.empty() ? flags->cluster_role : flags->role;
    if (!subjects.empty()) object["subjects"] = std::move(subjects);
    return CreateObject(session, flags->options, std::move(object));
  });
}

struct TokenFlags {
  std::vector<std::string> args, audiences;
  std::string duration, bound_kind, bound_name, bound_uid;
  PrintFlags print;
};

Result<json::Value> TokenRequestOf(const TokenFlags& flags) {
  json::Value request;
  request["apiVersion"] = "authentication.k8s.io/v1";
  request["kind"] = "TokenRequest";
  json::Value& spec = request["spec"];
  spec = json::Object();
  if (!flags.audiences.empty())
    spec["audiences"] = json::Array(flags.audiences.begin(), flags.audiences.end());
  if (!flags.duration.empty()) {
    const auto duration = api::ParseDuration(flags.duration);
    if (!duration || *duration < Duration::zero())
      return Unexpected(LocalError("--duration must be greater than or equal to 0"));
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(*duration).count();
    if (seconds > 0) spec["expirationSeconds"] = static_cast<long long>(seconds);
  }
  if (!flags.bound_kind.empty()) {
    if (flags.bound_name.empty())
      return Unexpected(LocalError("--bound-object-name is required if --bound-object-kind is provided"));
    json::Value& bound = spec["boundObjectRef"];
    bound["apiVersion"] = "v1";
    bound["kind"] = flags.bound_kind;
    bound["name"] = flags.bound_name;
    if (!flags.bound_uid.empty()) bound["uid"] = flags.bound_uid;
  } else if (!flags.bound_name.empty() || !flags.bound_uid.empty()) {
    return Unexpected(LocalError(std::string("--bound-object-") +
                                 (flags.bound_name.empty() ? "uid" : "name") +
                                 " can only be set if --bound-object-kind is provided"));
  }
  return request;
}

Status CreateToken(Session& session, const TokenFlags& flags) {
  FLYBALL_ASSIGN(const std::string name, OneName(session, flags.args));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  FLYBALL_ASSIGN(const json::Value body, TokenRequestOf(flags));
  RestRequest request;
  request.verb = "POST";
  request.path =
      KindRef{"", "v1", "ServiceAccount", "serviceaccounts", true}.Path(session.ns(), name, "token");
  request.body = json::Write(body);
  const Result<json::Value> answer = session.Call(std::move(request));
  if (!answer) return Unexpected(LocalError("failed to create token: " + answer.error().message()));
  if (printer) return PrintTo(session.out(), *printer, *answer);
  session.out() << (*answer)["status"]["token"].string_or("") << "\n";
  return {};
}

void AddToken(const Command& create) {
  auto flags = std::make_shared<TokenFlags>();
  const Command command =
      create.Sub("token", "Get a token of a ServiceAccount", "flyball create token robot --duration=10m");
  command.Args("NAME", &flags->args, "Name of the service account");
  AddPrintFlags(command, &flags->print);
  command.Option("--audience", &flags->audiences, "Whom the token is for; may be repeated");
  command.Option("--duration", &flags->duration, "How long it is valid; 0 is the server's default");
  command.Option("--bound-object-kind", &flags->bound_kind,
                 "Valid while this object lives: Pod, Secret or Node");
  command.Option("--bound-object-name", &flags->bound_name, "The name of that object");
  command.Option("--bound-object-uid", &flags->bound_uid, "The UID of that object");
  RunVerb(command, [flags](Session& session) { return CreateToken(session, *flags); });
}

}  // namespace

void AddAccessCreators(const Command& create) {
  AddRole(create, "role", "Role");
  AddRole(create, "clusterrole", "ClusterRole");
  AddBinding(create, "rolebinding", "RoleBinding");
  AddBinding(create, "clusterrolebinding", "ClusterRoleBinding");
  AddToken(create);
}

}  // namespace flyball::cli
