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

Status CanI(Session& session, const AuthFlags& flags) {
  if (flags.list) {
    if (!flags.args.empty()) return Unexpected(LocalError("list option must be specified with no arguments"));
    return ListAllowed(session, flags);
  }
  if (flags.args.size() != 2)
    return Unexpected(
        LocalError("you must specify two arguments: verb resource or verb resource/resourceName.\n"
                   "See 'kubectl auth can-i -h' for help and examples."));
  json::Value review;
  review["apiVersion"] = "authorization.k8s.io/v1";
  review["kind"] = "SelfSubjectAccessReview";
  const std::string& target = flags.args[1];
  if (!target.empty() && target[0] == '/') {
    review["spec"]["nonResourceAttributes"]["verb"] = flags.args[0];
    review["spec"]["nonResourceAttributes"]["path"] = target;
  } else {
    const std::size_t slash = target.find('/');
    json::Value& attributes = review["spec"]["resourceAttributes"];
    attributes["verb"] = flags.args[0];
    const std::string resource = target.substr(0, slash);
    attributes["resource"] = resource;
    attributes["group"] = resource == "*" ? "*" : "";
    bool namespaced = true;
    if (resource != "*") {
      if (auto kind = session.mapper().ForResource(resource)) {
        attributes["resource"] = kind->plural;
        attributes["group"] = kind->group;
        namespaced = kind->namespaced;
      } else {
        session.err() << "Warning: the server doesn't have a resource type '" << resource << "'\n\n";
      }
    }
    if (namespaced && !flags.all_namespaces) attributes["namespace"] = session.ns();
    if (slash != std::string::npos) attributes["name"] = target.substr(slash + 1);
    if (!flags.subresource.empty()) attributes["subresource"] = flags.subresource;
  }
  FLYBALL_ASSIGN(const json::Value answer,
                 Post(session, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review));
  const bool allowed = answer["status"]["allowed"].bool_or(false);
  const std::string_view reason = answer["status"]["reason"].string_or("");
  if (!flags.quiet)
    session.out() << (allowed ? "yes" : "no")
                  << (allowed || reason.empty() ? "" : " - " + std::string(reason)) << "\n";
  if (!allowed) return Unexpected(PrintedError());
  return {};
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
