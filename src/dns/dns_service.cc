#include "dns/dns_service.h"

#include "api/types/core.h"
#include "api/types/discovery.h"
#include "api/values/ip_address.h"

namespace flyball::dns {
namespace {

constexpr char kNamespace[] = "kube-system", kService[] = "kube-dns";
constexpr char kManager[] = "flyball-dns";
constexpr int kDnsPort = 53;
constexpr int kTenth = 10;

Service WantedService(const DnsServiceOptions& options) {
  Service service;
  service.metadata.name = kService;
  service.metadata.namespace_ = kNamespace;
  service.metadata.labels = {
      {"k8s-app", "kube-dns"}, {"kubernetes.io/cluster-service", "true"}, {"kubernetes.io/name", "CoreDNS"}};
  service.spec.type = "ClusterIP";
  service.spec.cluster_ip = options.cluster_ip;
  service.spec.cluster_ips = {options.cluster_ip};
  service.spec.ports = {{.name = "dns", .protocol = "UDP", .port = kDnsPort},
                        {.name = "dns-tcp", .protocol = "TCP", .port = kDnsPort}};
  return service;
}

EndpointSlice WantedSlice(const DnsServiceOptions& options) {
  EndpointSlice slice;
  slice.metadata.name = kService;
  slice.metadata.namespace_ = kNamespace;
  slice.metadata.labels = {{"kubernetes.io/service-name", kService},
                           {"endpointslice.kubernetes.io/managed-by", kManager}};
  slice.address_type = options.endpoint.find(':') == std::string::npos ? "IPv4" : "IPv6";
  Endpoint endpoint{.addresses = {options.endpoint}};
  endpoint.conditions.ready = true;
  slice.endpoints = {std::move(endpoint)};
  slice.ports = {{.name = "dns", .protocol = "UDP", .port = options.port},
                 {.name = "dns-tcp", .protocol = "TCP", .port = options.port}};
  return slice;
}

bool IsOurs(const ObjectMeta& meta) {
  return meta.name == kService && meta.namespace_ == kNamespace;
}

template <typename T>
void EnqueueOnChange(Manager& manager, const std::shared_ptr<Controller>& controller) {
  const auto enqueue = [weak = std::weak_ptr(controller)](const T& object) {
    const auto live = weak.lock();
    if (live && IsOurs(object.metadata)) live->Enqueue({kNamespace, kService});
  };
  controller->DependOn(manager.informers().For<T>().AddHandler(
      {.on_add = [enqueue](const auto& object, bool) { enqueue(*object); },
       .on_update = [enqueue](const auto&, const auto& object) { enqueue(*object); },
       .on_delete = [enqueue](const auto& object, bool) { enqueue(*object); }}));
}

}  // namespace

void KeepDnsService(Manager& manager, DnsServiceOptions options) {
  const ControllerOptions named{.name = "dns-service"};
  const auto controller =
      manager.AddController(named, [options](const ObjectKey&, Context& ctx) -> Result<Action> {
        const ApplyParams params{.field_manager = kManager, .force = true};
        FLYBALL_TRY(ctx.client().Apply(WantedService(options), params));
        FLYBALL_TRY(ctx.client().Apply(WantedSlice(options), params));
        return Done();
      });
  EnqueueOnChange<Service>(manager, controller);
  EnqueueOnChange<EndpointSlice>(manager, controller);
  controller->Enqueue({kNamespace, kService});
}

Result<std::string> DnsAddressIn(const std::string& service_range) {
  const auto cidr = api::ParseCidr(service_range);
  if (!cidr) return Unexpected(BadRequest("\"" + service_range + "\" is no address range"));
  api::IpAddress address = cidr->Network();
  address.bytes.back() = static_cast<std::uint8_t>(address.bytes.back() + kTenth);
  if (!cidr->Contains(address))
    return Unexpected(BadRequest("the range " + service_range + " is too small for a DNS Service"));
  return address.ToString();
}

}  // namespace flyball::dns
