// IngressSource: keeps a proxy's routes, endpoints and certificates up to date with the cluster's objects.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "informer/informer_factory.h"
#include "net/tls/tls_options.h"
#include "network/ingress/ingress_proxy.h"

namespace flyball::network {

const KindRef& IngressClassKind();
inline constexpr char kIngressController[] = "flyball.dev/ingress";

// Which Ingress objects are ours: those whose class has our controller name; those that name our class in the
// annotation of old; those without any class, if ours is the default one. Thread-safe.
class IngressClasses {
 public:
  explicit IngressClasses(InformerFactory& informers) : classes_(informers.Dynamic(IngressClassKind())) {}
  bool IsOurs(const Ingress& ingress) const;
  const SharedInformer<Unstructured>& informer() const { return classes_; }

 private:
  const SharedInformer<Unstructured> classes_;
};

// Thread-safe. A change marks what has to be worked out, and a strand of `executor` does that: the routes for
// Ingress objects and classes, the endpoints of one Service for it and its slices, the certificates for
// Secrets.
class IngressSource {
 public:
  // Gets the certificates of TLS Secrets that Ingress objects name, when they change.
  using UseCertificates = std::function<void(std::vector<net::NamedCertificate>)>;

  // Before the factory starts. `informers` and `executor` outlive it.
  IngressSource(InformerFactory& informers, Executor& executor, std::shared_ptr<IngressProxy> proxy,
                std::shared_ptr<EndpointConnections> connections, UseCertificates use);
  ~IngressSource();

  // Everything that existed at the start is in effect.
  bool synced() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace flyball::network
