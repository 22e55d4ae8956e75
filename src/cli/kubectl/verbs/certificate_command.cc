#include <memory>

#include "api/values/time.h"
#include "cli/command/error_text.h"
#include "cli/kubectl/print/printers.h"
#include "cli/kubectl/session/elements.h"
#include "cli/kubectl/session/manifests.h"
#include "cli/kubectl/verbs.h"
#include "json/json.h"

namespace flyball::cli {
namespace {

const KindRef kRequests{"certificates.k8s.io", "v1", "CertificateSigningRequest",
                        "certificatesigningrequests", false};

struct CertificateFlags {
  std::vector<std::string> names;
  ManifestFlags files;
  PrintFlags print;
  bool force = false;
};

// Sets the condition, unless it is there already; `force` writes it again.
bool SetDecision(json::Value& request, std::string_view type, std::string_view verb, const std::string& now,
                 bool force) {
  json::Array kept;
  for (const json::Value& condition : Elements(std::as_const(request)["status"]["conditions"])) {
    if (condition["type"].string_or("") != type)
      kept.push_back(condition);
    else if (!force)
      return false;
  }
  kept.emplace_back(
      json::Object{{"type", type},
                   {"status", "True"},
                   {"reason", "Kubectl" + std::string(verb == "approve" ? "Approve" : "Deny")},
                   {"message", "This CSR was " + std::string(verb == "approve" ? "approved" : "denied") +
                                   " by kubectl certificate " + std::string(verb) + "."},
                   {"lastUpdateTime", now}});
  request["status"]["conditions"] = std::move(kept);
  return true;
}

Status Decide(Session& session, const CertificateFlags& flags, const std::string& name,
              const std::string& verb) {
  constexpr int kMostConflicts = 10;
  const std::string past = verb == "approve" ? "approved" : "denied";
  FLYBALL_ASSIGN(const auto printer, NewObjectPrinter(flags.print));
  json::Value decided;
  for (int attempt = 0;; ++attempt) {
    FLYBALL_ASSIGN(decided, session.Get(kRequests, "", name));
    if (!SetDecision(decided, verb == "approve" ? "Approved" : "Denied", verb,
                     api::FormatTime(session.clock().Now()), flags.force))
      break;
    RestRequest update;
    update.verb = "PUT";
    update.path = kRequests.Path("", name, "approval");
    update.body = json::Write(decided);
    auto answer = session.Call(std::move(update));
    if (answer) {
      decided = std::move(*answer);
      break;
    }
    if (!answer.error().Is(Reason::kConflict) || attempt == kMostConflicts) return Unexpected(answer.error());
  }
  if (printer) return PrintTo(session.out(), *printer, decided);
  session.out() << "certificatesigningrequest.certificates.k8s.io/" << name << " " << past << "\n";
  return {};
}

Status DecideAll(Session& session, const CertificateFlags& flags, const std::string& verb) {
  std::vector<std::string> names = flags.names;
  if (!flags.files.empty()) {
    FLYBALL_ASSIGN(const auto objects, NamedObjects(session, flags.files, {}, {}));
    for (const ObjectRef& object : objects) names.push_back(object.name);
  }
  if (names.empty())
    return Unexpected(LocalError("one or more CSRs must be specified as <name> or -f <filename>"));
  for (const std::string& name : names)
    if (const Status done = Decide(session, flags, name, verb); !done) session.Report(done.error());
  return {};
}

void AddDecision(const Command& certificate, const std::string& verb, const std::string& summary) {
  auto flags = std::make_shared<CertificateFlags>();
  const Command command = certificate.Sub(verb, summary, "flyball certificate " + verb + " my-request");
  command.Args("NAME", &flags->names, "Names of certificate signing requests");
  AddManifestFlags(command, &flags->files);
  AddPrintFlags(command, &flags->print);
  command.Flag("--force", &flags->force, "Write the decision even if it has been made");
  RunVerb(command, [flags, verb](Session& session) { return DecideAll(session, *flags, verb); });
}

}  // namespace

void AddCertificateCommand(const Command& root) {
  const Command certificate = root.Sub("certificate", "Approve or deny certificate signing requests",
                                       "flyball certificate approve my-request");
  certificate.RequireSub();
  AddDecision(certificate, "approve", "Approve requests: their certificates may be signed");
  AddDecision(certificate, "deny", "Deny requests");
}

}  // namespace flyball::cli
