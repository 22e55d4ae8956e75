package dev.flyball;

import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Version;

@Group("test.flyball.dev")
@Version("v1")
public class Greeting extends CustomResource<Greeting.Spec, Greeting.State> implements Namespaced {
  public static class Spec {
    public String text;
  }

  public static class State {
    public String seen;
    public Long observedGeneration;
  }
}
