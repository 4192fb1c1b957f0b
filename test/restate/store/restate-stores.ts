import { Ingress } from "../../../src/restate/connection/ingress.ts";
import { register } from "../../../src/restate/connection/registration.ts";
import { loadSdk, openWorker, type RestateService } from "../../../src/restate/connection/worker.ts";
import { defineObject, storeServices } from "../../../src/restate/objects/services.ts";
import {
  OPEN_CONFIRMATIONS_OBJECT,
  openConfirmationHandlers,
} from "../../../src/restate/sessions/open-confirmations.ts";
import { programServices } from "../../../src/restate/sessions/open-restate.ts";
import { type RestateNode, startRestate } from "../restate-nodes.ts";

/** A node of Restate, with a worker that serves the objects of stores. */
export interface RestateStores extends AsyncDisposable {
  readonly node: RestateNode;
  readonly ingress: Ingress;
  /** Ends the worker, so that Restate cannot call the objects. */
  readonly closeWorker: () => Promise<void>;
  /** Returns the beginning of the keys of a new, empty store. */
  readonly newPrefix: () => string;
}

/** Starts a node. Its worker serves further services, too. */
export async function startRestateStores(further: readonly RestateService[] = []): Promise<RestateStores> {
  await using opened = new AsyncDisposableStack();
  const { nodes } = opened.use(await startRestate());
  const node = nodes[0] as RestateNode;
  const sdk = await loadSdk();
  const confirmations = defineObject(sdk, OPEN_CONFIRMATIONS_OBJECT, openConfirmationHandlers(sdk));
  const services = [...storeServices(sdk), ...programServices(sdk), confirmations, ...further];
  const worker = await openWorker({ services, host: "127.0.0.1", port: 0 });
  let closed: Promise<void> | undefined;
  const closeWorker = (): Promise<void> => {
    closed ??= Promise.resolve(worker[Symbol.asyncDispose]());
    return closed;
  };
  opened.defer(closeWorker);
  await register({
    admin: [node.admin],
    advertise: `http://127.0.0.1:${worker.port}`,
    services: services.map(({ name }) => name),
  });
  const ingress = opened.adopt(new Ingress({ urls: [node.ingress] }), (used) => used.close());
  const kept = opened.move();
  let count = 0;
  return {
    node,
    ingress,
    closeWorker,
    newPrefix: () => `${count++}/`,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
