package dev.flyball;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.javaoperatorsdk.operator.api.reconciler.Cleaner;
import io.javaoperatorsdk.operator.api.reconciler.Context;
import io.javaoperatorsdk.operator.api.reconciler.ControllerConfiguration;
import io.javaoperatorsdk.operator.api.reconciler.DeleteControl;
import io.javaoperatorsdk.operator.api.reconciler.Reconciler;
import io.javaoperatorsdk.operator.api.reconciler.UpdateControl;

/** Keeps a ConfigMap that says what the Greeting says, and removes it with the Greeting. */
@ControllerConfiguration
public class GreetingReconciler implements Reconciler<Greeting>, Cleaner<Greeting> {
  @Override
  public UpdateControl<Greeting> reconcile(Greeting greeting, Context<Greeting> context) {
    context.getClient().resource(child(greeting)).fieldManager("greeter").forceConflicts().serverSideApply();
    Greeting status = new Greeting();
    status.getMetadata().setName(greeting.getMetadata().getName());
    status.getMetadata().setNamespace(greeting.getMetadata().getNamespace());
    status.setStatus(new Greeting.State());
    status.getStatus().seen = greeting.getSpec().text;
    status.getStatus().observedGeneration = greeting.getMetadata().getGeneration();
    return UpdateControl.patchStatus(status);
  }

  @Override
  public DeleteControl cleanup(Greeting greeting, Context<Greeting> context) {
    context.getClient().resource(child(greeting)).delete();
    return DeleteControl.defaultDelete();
  }

  private static ConfigMap child(Greeting greeting) {
    return new ConfigMapBuilder()
        .withNewMetadata()
        .withName("greeting-" + greeting.getMetadata().getName())
        .withNamespace(greeting.getMetadata().getNamespace())
        .endMetadata()
        .addToData("text", greeting.getSpec() == null ? "" : greeting.getSpec().text)
        .build();
  }
}
