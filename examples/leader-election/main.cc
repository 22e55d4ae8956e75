// Many copies, one of which acts. Start several; kill the one that leads and see another
// take over: after the lease has run out if it was killed, at once if it could say goodbye. See README.md.
#include <flyball/sdk.h>
#include <unistd.h>

#include <cstdio>
#include <string>

using namespace flyball;  // NOLINT(google-build-using-namespace): the SDK is what this program is made of

// Says who leads, once a beat, in a ConfigMap that all copies write: the count never goes back, since there
// is never more than one leader.
Result<Action> Beat(const std::string& identity, Context& ctx) {
  ConfigMap last;
  if (auto found = ctx.client().Get<ConfigMap>("default", "heartbeat"); found) last = *found;
  const std::string count =
      std::to_string(last.data.contains("count") ? std::stol(last.data["count"]) + 1 : 1);
  ConfigMap next{.data = {{"leader", identity}, {"count", count}}};
  next.metadata.name = "heartbeat";
  next.metadata.namespace_ = "default";
  FLYBALL_TRY(ctx.client().Apply(next, {.field_manager = "leader-election", .force = true}));
  std::printf("%s leads: beat %s\n", identity.c_str(), count.c_str());
  std::fflush(stdout);
  return RequeueAfter(500ms);
}

int main(int argc, char** argv) {
  const std::string identity = "copy-" + std::to_string(getpid());
  ManagerOptions options{.leader_election = true};
  options.election.identity = identity;
  return Main(
      argc, argv,
      [&identity](Manager& manager) -> Status {
        // A controller without a kind: it has one key, and works only while this copy leads.
        const auto heart = manager.AddController(
            {.name = "heart"}, [&identity](const ObjectKey&, Context& ctx) { return Beat(identity, ctx); });
        heart->Enqueue({"", "beat"});
        return {};
      },
      options);
}
