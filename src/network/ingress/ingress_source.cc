#include "network/ingress/ingress_source.h"

#include <algorithm>
#include <atomic>
#include <set>

#include "base/observe/log.h"
#include "base/values/ascii.h"
#include "net/tls/pki.h"

namespace flyball::network {
namespace {

constexpr char kClassAnnotation[] = "kubernetes.io/ingress.class";
constexpr char kDefaultAnnotation[] = "ingressclass.kubernetes.io/is-default-class";
constexpr char kServiceOfSlice[] = "kubernetes.io/service-name";
constexpr char kIngressByService[] = "ingress.service";
constexpr char kOurClass[] = "flyball";

std::string TextIn(const std::map<std::string, std::string>& map, const char* key) {
  const auto found = map.find(key);
  return found == map.end() ? "" : found->second;
}

bool IsOurClass(const Unstructured& one) {
  return one.value()["spec"]["controller"].string_or("") == kIngressController;
}

// Null if the Secret has no certificate with its key.
std::optional<net::NamedCertificate> CertificateOf(const Secret& secret,
                                                   const std::vector<std::string>& hosts) {
  const std::string certificate = TextIn(secret.data, "tls.crt"), key = TextIn(secret.data, "tls.key");
  if (!net::IsKeyOf(key, certificate)) return std::nullopt;
  net::NamedCertificate named{.names = hosts, .certificate_pem = certificate, .private_key_pem = key};
  if (named.names.empty())
    if (const auto info = net::ParseCertificate(certificate)) named.names = info->dns_names;
  for (std::string& name : named.names) name = LowerCase(name);
  return named;
}

}  // namespace

const KindRef& IngressClassKind() {
  static const KindRef kind{"networking.k8s.io", "v1", "IngressClass", "ingressclasses", false};
  return kind;
}

bool IngressClasses::IsOurs(const Ingress& ingress) const {
  if (ingress.spec.ingress_class_name) {
    const auto named = classes_.lister().Get(*ingress.spec.ingress_class_name);
    return named && IsOurClass(*named);
  }
  const std::string annotated = TextIn(ingress.metadata.annotations, kClassAnnotation);
  if (!annotated.empty()) return annotated == kOurClass;
  for (const auto& one : classes_.lister().List())
    if (IsOurClass(*one) &&
        one->value()["metadata"]["annotations"][kDefaultAnnotation].string_or("") == "true")
      return true;
  return false;
}

struct IngressSource::State : std::enable_shared_from_this<State> {
  State(InformerFactory& informers, Executor& executor, std::shared_ptr<IngressProxy> p,
        std::shared_ptr<EndpointConnections> c, UseCertificates u)
      : classes(informers),
        ingresses(informers.For<Ingress>()),
        services(informers.For<Service>()),
        slices(informers.For<EndpointSlice>()),
        secrets(informers.For<Secret>(InformerScope{.field_selector = "type=kubernetes.io/tls"})),
        strand(executor),
        proxy(std::move(p)),
        connections(std::move(c)),
        use_certificates(std::move(u)) {}

  void Watch();
  template <typename T>
  void WatchKind(const SharedInformer<T>& informer, void (State::*changed)(const T&));
  void OnIngress(const Ingress&) { Mark(true, {}); }
  void OnClass(const Unstructured&) { Mark(true, {}); }
  void OnSecret(const Secret&) { Mark(true, {}); }
  void OnService(const Service& service) {
    Mark(false, {service.metadata.namespace_, service.metadata.name});
  }
  void OnSlice(const EndpointSlice& slice) {
    Mark(false, {slice.metadata.namespace_, TextIn(slice.metadata.labels, kServiceOfSlice)});
  }
  void AfterSync(const std::shared_ptr<HandlerRegistration>& registration);
  void Mark(bool routes, const ObjectKey& service);
  void WorkOut();
  void WorkOutRoutes();
  void WorkOutCertificates(const std::vector<std::shared_ptr<const Ingress>>& ours);
  void WorkOutService(const ObjectKey& key);

  const IngressClasses classes;
  const SharedInformer<Ingress> ingresses;
  const SharedInformer<Service> services;
  const SharedInformer<EndpointSlice> slices;
  const SharedInformer<Secret> secrets;
  Strand strand;
  const std::shared_ptr<IngressProxy> proxy;
  const std::shared_ptr<EndpointConnections> connections;
  const UseCertificates use_certificates;
  std::vector<net::NamedCertificate> certificates;  // in use; confined to the strand
  std::vector<std::shared_ptr<HandlerRegistration>> registrations;
  std::atomic<int> unsynced{0};
  std::atomic<bool> closed{false}, synced{false};
  Mutex mu;
  bool posted FLYBALL_GUARDED_BY(mu) = false;
  bool routes_marked FLYBALL_GUARDED_BY(mu) = false;
  std::set<ObjectKey> services_marked FLYBALL_GUARDED_BY(mu);
};

template <typename T>
void IngressSource::State::WatchKind(const SharedInformer<T>& informer, void (State::*changed)(const T&)) {
  const auto tell = [weak = weak_from_this(), changed](const T& object) {
    if (const auto self = weak.lock()) (self.get()->*changed)(object);
  };
  registrations.push_back(
      informer.AddHandler({.on_add = [tell](const auto& object, bool) { tell(*object); },
                           .on_update =
                               [tell](const auto& old, const auto& object) {
                                 tell(*old);
                                 tell(*object);
                               },
                           .on_delete = [tell](const auto& object, bool) { tell(*object); }}));
}

void IngressSource::State::Watch() {
  (void)slices.AddIndex(kIngressByService, [](const EndpointSlice& slice) {
    return std::vector<std::string>{slice.metadata.namespace_ + "/" +
                                    TextIn(slice.metadata.labels, kServiceOfSlice)};
  });
  WatchKind(ingresses, &State::OnIngress);
  WatchKind(classes.informer(), &State::OnClass);
  WatchKind(secrets, &State::OnSecret);
  WatchKind(services, &State::OnService);
  WatchKind(slices, &State::OnSlice);
  unsynced = static_cast<int>(registrations.size());
  for (const auto& registration : registrations) AfterSync(registration);
}

void IngressSource::State::AfterSync(const std::shared_ptr<HandlerRegistration>& registration) {
  registration->OnSynced([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self || --self->unsynced > 0) return;
    self->Mark(true, {});
    self->strand.Post([weak] {
      if (const auto state = weak.lock()) state->synced = true;
    });
  });
}

void IngressSource::State::Mark(bool routes, const ObjectKey& service) {
  MutexLock lock(mu);
  if (closed) return;
  routes_marked = routes_marked || routes;
  if (!service.name.empty()) services_marked.insert(service);
  if (std::exchange(posted, true)) return;
  strand.Post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->WorkOut();
  });
}

void IngressSource::State::WorkOut() {
  bool routes = false;
  std::set<ObjectKey> keys;
  {
    MutexLock lock(mu);
    posted = false;
    routes = std::exchange(routes_marked, false);
    keys.swap(services_marked);
  }
  if (unsynced > 0) return;  // it is all worked out once everything is there
  if (routes) {
    WorkOutRoutes();
    for (const BackendRef& ref : proxy->routes()->Backends()) keys.insert({ref.ns, ref.service});
  }
  for (const ObjectKey& key : keys) WorkOutService(key);
}

void IngressSource::State::WorkOutRoutes() {
  std::vector<std::shared_ptr<const Ingress>> ours =
      ingresses.lister().List("", [this](const Ingress& ingress) { return classes.IsOurs(ingress); });
  std::sort(ours.begin(), ours.end(), [](const auto& a, const auto& b) { return OlderIngress(*a, *b); });
  WorkOutCertificates(ours);
  proxy->SetRoutes(std::make_shared<const RouteTable>(std::move(ours)));
}

void IngressSource::State::WorkOutCertificates(const std::vector<std::shared_ptr<const Ingress>>& ours) {
  std::vector<net::NamedCertificate> found;
  for (const auto& ingress : ours)
    for (const IngressTLS& tls : ingress->spec.tls) {
      const std::string& ns = ingress->metadata.namespace_;
      const auto secret = secrets.lister().Get(ns, tls.secret_name);
      auto certificate = secret ? CertificateOf(*secret, tls.hosts) : std::nullopt;
      if (certificate)
        found.push_back(std::move(*certificate));
      else if (!tls.secret_name.empty())
        log::Warning(
            "an Ingress names a Secret without a certificate and its key; its hosts get the default one",
            {{"ingress", ns + "/" + ingress->metadata.name}, {"secret", tls.secret_name}});
    }
  if (found == certificates) return;
  certificates = found;
  use_certificates(std::move(found));
}

void IngressSource::State::WorkOutService(const ObjectKey& key) {
  const auto pools = proxy->PoolsOf(key.ns, key.name);
  if (pools.empty()) return;
  const auto service = services.lister().Get(key);
  const auto all = slices.lister().ByIndex(kIngressByService, key.ns + "/" + key.name);
  for (const auto& [ref, pool] : pools) {
    std::vector<std::shared_ptr<net::Transport>> targets;
    for (const std::string& url : service ? EndpointUrls(ref, *service, all) : std::vector<std::string>())
      if (auto to = connections->To(url)) targets.push_back(std::move(*to));
    pool->Set(std::move(targets));
  }
}

IngressSource::IngressSource(InformerFactory& informers, Executor& executor,
                             std::shared_ptr<IngressProxy> proxy,
                             std::shared_ptr<EndpointConnections> connections, UseCertificates use)
    : state_(std::make_shared<State>(informers, executor, std::move(proxy), std::move(connections),
                                     std::move(use))) {
  state_->Watch();
}

IngressSource::~IngressSource() {
  state_->closed = true;
  for (const auto& registration : state_->registrations) registration->Remove();
}

bool IngressSource::synced() const {
  return state_->synced;
}

}  // namespace flyball::network
