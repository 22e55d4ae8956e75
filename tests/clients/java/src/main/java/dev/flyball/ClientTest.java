package dev.flyball;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.Watch;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.javaoperatorsdk.operator.Operator;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** What programs on the JVM do with an API server: objects, errors, apply, watches, informers, an operator. */
public class ClientTest {
  private static final String NS = "java";
  private static final String DEFINITION =
      """
      apiVersion: apiextensions.k8s.io/v1
      kind: CustomResourceDefinition
      metadata: {name: greetings.test.flyball.dev}
      spec:
        group: test.flyball.dev
        scope: Namespaced
        names: {plural: greetings, singular: greeting, kind: Greeting}
        versions:
        - name: v1
          served: true
          storage: true
          subresources: {status: {}}
          schema:
            openAPIV3Schema:
              type: object
              properties:
                spec: {type: object, properties: {text: {type: string}}}
                status: {type: object, properties: {seen: {type: string}, observedGeneration: {type: integer}}}
      """;

  private static void check(boolean holds, String what) {
    if (!holds) throw new AssertionError(what);
    System.out.println("ok: " + what);
  }

  private static void await(String what, BooleanSupplier holds) throws InterruptedException {
    for (int i = 0; i < 600; ++i) {
      if (holds.getAsBoolean()) {
        System.out.println("ok: " + what);
        return;
      }
      Thread.sleep(100);
    }
    throw new AssertionError("never: " + what);
  }

  private static ConfigMap map(String name, String value) {
    return new ConfigMapBuilder()
        .withNewMetadata().withName(name).withNamespace(NS).endMetadata()
        .addToData("key", value)
        .build();
  }

  private static void objects(KubernetesClient client) throws Exception {
    client.resource(new NamespaceBuilder().withNewMetadata().withName(NS).endMetadata().build()).create();
    client.resource(map("crud", "1")).create();
    var maps = client.configMaps().inNamespace(NS);
    check("1".equals(maps.withName("crud").get().getData().get("key")), "an object is read");
    maps.withName("crud").edit(m -> new ConfigMapBuilder(m).addToData("key", "2").build());
    check("2".equals(maps.withName("crud").get().getData().get("key")), "an object is patched");
    try {
      client.resource(map("crud", "3")).create();
      check(false, "a second create is refused");
    } catch (KubernetesClientException e) {
      check(e.getCode() == 409 && "AlreadyExists".equals(e.getStatus().getReason()), "a second create is refused");
    }
    client.resource(map("applied", "a")).fieldManager("java").serverSideApply();
    var applied = maps.withName("applied").get();
    check("java".equals(applied.getMetadata().getManagedFields().get(0).getManager()), "an object is applied");
    check(maps.list().getItems().size() >= 2, "objects are listed");
    maps.withName("crud").delete();
    await("an object is deleted", () -> maps.withName("crud").get() == null);
  }

  private static void watches(KubernetesClient client) throws Exception {
    BlockingQueue<String> events = new LinkedBlockingQueue<>();
    var watcher =
        new Watcher<ConfigMap>() {
          @Override
          public void eventReceived(Action action, ConfigMap object) {
            events.add(action + " " + object.getMetadata().getName());
          }

          @Override
          public void onClose(WatcherException cause) {}
        };
    try (Watch watch = client.configMaps().inNamespace(NS).withName("watched").watch(watcher)) {
      client.resource(map("watched", "1")).create();
      check("ADDED watched".equals(events.poll(30, TimeUnit.SECONDS)), "a watch tells of a creation");
      client.configMaps().inNamespace(NS).withName("watched").delete();
      check("DELETED watched".equals(events.poll(30, TimeUnit.SECONDS)), "a watch tells of a deletion");
    }
  }

  private static void operator(Config config, KubernetesClient client) throws Exception {
    client.load(new ByteArrayInputStream(DEFINITION.getBytes(StandardCharsets.UTF_8))).serverSideApply();
    await("the definition is established", () ->
        client.apiextensions().v1().customResourceDefinitions().withName("greetings.test.flyball.dev").get()
            .getStatus() != null
        && client.apiextensions().v1().customResourceDefinitions().withName("greetings.test.flyball.dev").get()
            .getStatus().getConditions().stream()
            .anyMatch(c -> c.getType().equals("Established") && c.getStatus().equals("True")));
    var own = new KubernetesClientBuilder().withConfig(config).build();
    Operator operator = new Operator(o -> o.withKubernetesClient(own));
    operator.register(new GreetingReconciler());
    operator.start();
    SharedIndexInformer<ConfigMap> informer = client.configMaps().inNamespace(NS).inform();
    greet(client, "before", "hello");
    System.out.println("RESTART");
    System.in.read(new byte[64]);
    greet(client, "after", "hello again");
    await("an informer goes on after a restart", () -> informer.getStore().getByKey(NS + "/greeting-after") != null);
    client.resources(Greeting.class).inNamespace(NS).withName("before").delete();
    await("the operator cleans up", () ->
        client.configMaps().inNamespace(NS).withName("greeting-before").get() == null
        && client.resources(Greeting.class).inNamespace(NS).withName("before").get() == null);
    informer.stop();
    operator.stop();
  }

  private static void greet(KubernetesClient client, String name, String text) throws Exception {
    Greeting greeting = new Greeting();
    greeting.getMetadata().setName(name);
    greeting.getMetadata().setNamespace(NS);
    greeting.setSpec(new Greeting.Spec());
    greeting.getSpec().text = text;
    client.resource(greeting).create();
    await("the operator makes a ConfigMap for " + name, () -> {
      var made = client.configMaps().inNamespace(NS).withName("greeting-" + name).get();
      return made != null && text.equals(made.getData().get("text"));
    });
    await("the operator writes the status of " + name, () -> {
      var state = client.resources(Greeting.class).inNamespace(NS).withName(name).get().getStatus();
      return state != null && text.equals(state.seen);
    });
  }

  public static void main(String[] arguments) throws Exception {
    Config config = Config.fromKubeconfig(Files.readString(Path.of(arguments[0])));
    try (KubernetesClient client = new KubernetesClientBuilder().withConfig(config).build()) {
      check(client.getKubernetesVersion().getMinor().startsWith("37"), "the version is read with the client certificate");
      objects(client);
      watches(client);
      operator(config, client);
    }
    System.exit(0);
  }
}
