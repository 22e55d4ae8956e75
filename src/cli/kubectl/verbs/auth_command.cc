#include <algorithm>
#include <initializer_list>
#include <memory>

#include "cli/command/error_text.h"
#include "cli/kubectl/describe/rule_table.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/print/tab_writer.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/session.h"
#include "cli/kubectl/verbs.h"
#include "cli/kubectl/verbs/auth_reconcile.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

struct AuthFlags {
  std::vector<std::string> args;
  std::string subresource;
  PrintFlags print;
  bool quiet = false, all_namespaces = false, list = false, no_headers = false;
};

Result<json::Value> Post(Session& session, const std::string& path, const json::Value& body) {
  RestRequest request;
  request.verb = "POST";
  request.path = path;
  request.body = json::Write(body);
  return session.Call(std::move(request));
}

std::string Bracketed(const json::Value& values) {
  std::string text = "[";
  for (const json::Value& value : Elements(values))
    text += (text.size() > 1 ? " " : "") + std::string(value.string_or(""));
  return text + "]";
}

Status ListAllowed(Session& session, const AuthFlags& flags) {
  json::Value review;
  review["apiVersion"] = "authorization.k8s.io/v1";
  review["kind"] = "SelfSubjectRulesReview";
  review["spec"]["namespace"] = session.ns();
  FLYBALL_ASSIGN(const json::Value answer,
                 Post(session, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", review));
  if (answer["status"]["incomplete"].bool_or(false))
    session.err() << "warning: the list may be incomplete: "
                  << answer["status"]["evaluationError"].string_or("") << "\n";
  TabWriter writer = TableWriter();
  if (!flags.no_headers) writer.Write("Resources\tNon-Resource URLs\tResource Names\tVerbs\n");
  json::Array rules = Elements(answer["status"]["resourceRules"]);
  for (const json::Value& rule : Elements(answer["status"]["nonResourceRules"])) rules.push_back(rule);
  for (const RuleRow& row : RuleRows(rules))
    writer.Write(row.resource + "\t" + row.urls + "\t" + row.names + "\t" + row.verbs + "\n");
  session.out() << writer.Take();
  return {};
}

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool IsResourceVerb(std::string_view verb) {
  return IsOneOf(verb, {"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection",
                        "use", "bind", "escalate", "impersonate", "*", "approve", "sign", "attest"});
}

// With an empty line after it, as kubectl.
void WarnOf(Session& session, const std::string& text) {
  session.Warn(text + "\n");
}

Status CheckCanI(const AuthFlags& flags) {
  if (flags.list && !flags.args.empty())
    return Unexpected(LocalError("list option must be specified with no arguments"));
  if (flags.list && (flags.quiet || flags.all_namespaces || !flags.subresource.empty()))
    return Unexpected(LocalError(
        "list option can't be specified with neither quiet, all-namespaces nor subresource options"));
  if (flags.list) return {};
  if (flags.args.size() != 2)
    return Unexpected(
        LocalError("you must specify two arguments: verb resource or verb resource/resourceName.\n"
                   "See 'kubectl auth can-i -h' for help and examples."));
  if (flags.args[1].starts_with("/") && !flags.subresource.empty())
    return Unexpected(LocalError("--subresource can not be used with NonResourceURL"));
  if (flags.no_headers) return Unexpected(LocalError("--no-headers cannot be set without --list specified"));
  return {};
}

void AskOfUrl(Session& session, const AuthFlags& flags, json::Value& spec) {
  const std::string& verb = flags.args[0];
  if (!IsOneOf(verb, {"get", "put", "post", "head", "options", "delete", "patch", "*"}))
    WarnOf(session, "verb '" + verb + "' is not a known verb");
  spec["nonResourceAttributes"]["verb"] = verb;
  spec["nonResourceAttributes"]["path"] = flags.args[1];
}

void AskOfResource(Session& session, const AuthFlags& flags, json::Value& spec) {
  const std::string& target = flags.args[1];
  const std::size_t slash = target.find('/');
  const std::string resource = target.substr(0, slash);
  const auto [name, group] = std::pair(
      resource.substr(0, resource.find('.')),
      resource.find('.') == std::string::npos ? std::string() : resource.substr(resource.find('.') + 1));
  json::Value& attributes = spec["resourceAttributes"];
  attributes["verb"] = flags.args[0];
  attributes["resource"] = name;
  attributes["group"] = resource == "*" ? "*" : group;
  const auto in_group = [](const std::string& of) { return of.empty() ? "" : " in group '" + of + "'"; };
  if (resource != "*") {
    if (auto kind = session.mapper().ForResource(resource)) {
      attributes["resource"] = kind->plural;
      attributes["group"] = kind->group;
      if (!kind->namespaced && !flags.all_namespaces)
        WarnOf(session, "resource '" + kind->plural + "' is not namespace scoped" + in_group(kind->group));
    } else if (!IsOneOf(resource, {"users", "groups"})) {
      WarnOf(session, "the server doesn't have a resource type '" + name + "'" + in_group(group));
    }
  }
  if (!IsResourceVerb(flags.args[0])) WarnOf(session, "verb '" + flags.args[0] + "' is not a known verb");
  if (!flags.all_namespaces) attributes["namespace"] = session.ns();
  if (slash != std::string::npos) attributes["name"] = target.substr(slash + 1);
  if (!flags.subresource.empty()) attributes["subresource"] = flags.subresource;
}

Status CanI(Session& session, const AuthFlags& flags) {
  FLYBALL_TRY(CheckCanI(flags));
  if (flags.list) return ListAllowed(session, flags);
  json::Value review;
  review["apiVersion"] = "authorization.k8s.io/v1";
  review["kind"] = "SelfSubjectAccessReview";
  if (flags.args[1].starts_with("/"))
    AskOfUrl(session, flags, review["spec"]);
  else
    AskOfResource(session, flags, review["spec"]);
  FLYBALL_ASSIGN(const json::Value answer,
                 Post(session, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review));
  const json::Value& status = answer["status"];
  const bool allowed = status["allowed"].bool_or(false);
  std::string said = allowed ? "yes" : "no";
  for (const char* field : {"reason", "evaluationError"})
    if (const std::string why(status[field].string_or("")); !allowed && !why.empty()) said += " - " + why;
  if (!flags.quiet) session.out() << said << "\n";
  return allowed ? Status() : Unexpected(PrintedError());
}

Status WhoAmI(Session& session, const AuthFlags& flags) {
  json::Value review;
  review["apiVersion"] = "authentication.k8s.io/v1";
  review["kind"] = "SelfSubjectReview";
  FLYBALL_ASSIGN(const json::Value answer,
                 Post(session, "/apis/authentication.k8s.io/v1/selfsubjectreviews", review));
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  if (printer) return PrintTo(session.out(), *printer, answer);
  const json::Value& user = answer["status"]["userInfo"];
  TabWriter writer = TableWriter();
  writer.Write("ATTRIBUTE\tVALUE\nUsername\t" + std::string(user["username"].string_or("")) + "\n");
  if (!user["uid"].string_or("").empty())
    writer.Write("UID\t" + std::string(user["uid"].string_or("")) + "\n");
  if (!user["groups"].empty()) writer.Write("Groups\t" + Bracketed(user["groups"]) + "\n");
  if (user["extra"].is_object())
    for (const auto& [key, values] : user["extra"].as_object())
      writer.Write("Extra: " + key + "\t" + Bracketed(values) + "\n");
  session.out() << writer.Take();
  return {};
}

}  // namespace

void AddAuthCommand(const Command& root) {
  const Command auth =
      root.Sub("auth", "Ask who you are and what you may do", "flyball auth can-i create pods");
  auth.RequireSub();
  auto flags = std::make_shared<AuthFlags>();
  const Command can_i =
      auth.Sub("can-i", "Ask whether something is allowed", "flyball auth can-i delete pods");
  can_i.Args("VERB RESOURCE", &flags->args, "What, and on what");
  can_i.Option("--subresource", &flags->subresource, "log, status, ...");
  can_i.Flag("-q,--quiet", &flags->quiet, "Only the exit status");
  can_i.Flag("-A,--all-namespaces", &flags->all_namespaces, "In every namespace");
  RunVerb(can_i, [flags](Session& session) { return CanI(session, *flags); });
  can_i.Flag("--list", &flags->list, "Everything that is allowed in the namespace");
  can_i.Flag("--no-headers", &flags->no_headers, "With --list: leave out the line of headers");
  auto who_flags = std::make_shared<AuthFlags>();
  const Command who = auth.Sub("whoami", "Say who the server takes you for", "flyball auth whoami");
  AddPrintFlags(who, &who_flags->print);
  RunVerb(who, [who_flags](Session& session) { return WhoAmI(session, *who_flags); });
  AddAuthReconcileCommand(auth);
}

}  // namespace flyball::cli
