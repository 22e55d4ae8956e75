#include "node/oci/node_runtime.h"

#include "base/observe/log.h"
#include "node/runtime/native_runtime.h"

namespace flyball::node {
namespace {

Error HostImageOff() {
  return Error(
      Reason::kForbidden,
      "image `host` is turned off on this node: a process without isolation, as the node's user. Start "
      "the node with --host-image=on to have it");
}

class NodeRuntime final : public ContainerRuntime {
 public:
  NodeRuntime(std::unique_ptr<ContainerRuntime> host, std::unique_ptr<OciContainers> containers,
              bool allow_host)
      : host_(std::move(host)), containers_(std::move(containers)), allow_host_(allow_host) {}

  std::string_view name() const override { return host_->name(); }
  std::string_view version() const override { return host_->version(); }
  bool real() const override { return true; }
  Executor* executor() override { return containers_->executor(); }
  std::string volumes_folder() const override { return containers_->volumes_folder(); }

  Executor* pull_executor() override { return containers_->pull_executor(); }
  Result<std::optional<ReadyImage>> FindImage(const ImageRequest& request) override {
    if (Refuses(request.image)) return std::optional<ReadyImage>();
    return ByImage(request.image).FindImage(request);
  }
  Result<ReadyImage> PullImage(const ImageRequest& request) override {
    if (Refuses(request.image)) return Unexpected(HostImageOff());
    return ByImage(request.image).PullImage(request);
  }
  Status MountImage(const std::string& pod_uid, const std::string& volume, const std::string& image,
                    const std::string& path) override {
    return containers_->MountImage(pod_uid, volume, image, path);
  }
  Result<std::string> Start(const ContainerConfig& config,
                            UniqueFunction<void(ContainerExit)> exited) override {
    if (Refuses(config.image)) return Unexpected(HostImageOff());
    return ByImage(config.image).Start(config, std::move(exited));
  }
  std::optional<AdoptedContainer> Adopt(const std::string& pod_uid, const std::string& container,
                                        UniqueFunction<void(ContainerExit)> exited) override {
    return containers_->Adopt(pod_uid, container, std::move(exited));
  }
  void KeepOnly(const std::string& node, const std::set<std::string>& pod_uids) override {
    containers_->KeepOnly(node, pod_uids);
  }
  int StopSignal(const std::string& id) override { return ById(id).StopSignal(id); }
  void Signal(const std::string& id, int signal) override { ById(id).Signal(id, signal); }
  void Exec(const std::string& id, const std::vector<std::string>& command, Duration timeout,
            UniqueFunction<void(Result<ExecResult>)> done) override {
    ById(id).Exec(id, command, timeout, std::move(done));
  }
  Result<std::shared_ptr<StreamHandle>> OpenExec(const std::string& id, const StreamRequest& request,
                                                 StreamEvents events) override {
    return ById(id).OpenExec(id, request, std::move(events));
  }
  Result<std::shared_ptr<StreamHandle>> Attach(const std::string& id, const StreamRequest& request,
                                               StreamEvents events) override {
    return ById(id).Attach(id, request, std::move(events));
  }
  std::map<std::string, ResourceUsage> UsageOf(const std::vector<UsageQuery>& containers,
                                               TimePoint now) override {
    std::vector<UsageQuery> of_host, contained;
    for (const UsageQuery& query : containers)
      (containers_->Knows(query.id) ? contained : of_host).push_back(query);
    auto all = containers_->UsageOf(contained, now);
    if (!of_host.empty()) all.merge(host_->UsageOf(of_host, now));
    return all;
  }
  std::string CgroupOf(const Pod& pod) const override { return containers_->CgroupOf(pod); }
  Status Resize(const std::string& id, const Pod& pod, const Container& spec) override {
    return ById(id).Resize(id, pod, spec);
  }
  WrittenFolders WrittenBy(const std::string& id) override { return ById(id).WrittenBy(id); }
  Status CollectImages() override { return containers_->CollectImages(); }
  Status RemoveUnusedImages() override { return containers_->RemoveUnusedImages(); }
  void ReadLog(const LogQuery& query, LogSink sink) override {
    ByPod(query.pod_uid).ReadLog(query, std::move(sink));
  }
  std::string AllocatePodIp(const std::string& pod_uid) override { return host_->AllocatePodIp(pod_uid); }
  bool MayForwardTo(const std::string& pod_uid, int port) override {
    return ByPod(pod_uid).MayForwardTo(pod_uid, port);
  }
  void RemovePod(const std::string& ns, const std::string& name, const std::string& uid) override {
    containers_->RemovePod(ns, name, uid);
    host_->RemovePod(ns, name, uid);
  }
  void Shutdown() override {
    containers_->Shutdown();
    host_->Shutdown();
  }

 private:
  bool Refuses(const std::string& image) const { return !allow_host_ && IsHostImage(image); }
  ContainerRuntime& ByImage(const std::string& image) {
    return IsHostImage(image) ? *host_ : static_cast<ContainerRuntime&>(*containers_);
  }
  ContainerRuntime& ById(const std::string& id) {
    return containers_->Knows(id) ? static_cast<ContainerRuntime&>(*containers_) : *host_;
  }
  ContainerRuntime& ByPod(const std::string& uid) {
    return containers_->KnowsPod(uid) ? static_cast<ContainerRuntime&>(*containers_) : *host_;
  }

  const std::unique_ptr<ContainerRuntime> host_;
  const std::unique_ptr<OciContainers> containers_;
  const bool allow_host_;
};

}  // namespace

bool RunsHostImage(HostImage wanted) {
  return wanted == HostImage::kOn || (wanted == HostImage::kAuto && WhyNoContainers().has_value());
}

Result<std::unique_ptr<ContainerRuntime>> NewNodeRuntime(const OciRuntimeOptions& options, Executor& executor,
                                                         Random& random) {
  FLYBALL_ASSIGN(auto host, NewNativeRuntime({.data_dir = options.data_dir,
                                              .pod_ip = options.pod_ip,
                                              .log_limits = options.log_limits},
                                             executor, random));
  if (const auto why = WhyNoContainers()) {
    if (options.host_image == HostImage::kOff)
      return Unexpected(BadRequest("nothing could run on this node: " + *why + ", and --host-image=off"));
    log::Info("only image `host` runs on this node", {{"why", *why}});
    return host;
  }
  FLYBALL_ASSIGN(auto containers, OpenOciRuntime(options, executor, random));
  return std::unique_ptr<ContainerRuntime>(std::make_unique<NodeRuntime>(
      std::move(host), std::move(containers), RunsHostImage(options.host_image)));
}

}  // namespace flyball::node
