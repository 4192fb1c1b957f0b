import { type Signal, signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { NewPush } from "../../shapes/server.ts";
import { ApiError, get, messageOf, send } from "../api/http.ts";
import { beforeLogOut, hasRole } from "../api/session.ts";
import { Problem } from "../parts/loaded.tsx";

/** Has this browser notified of what waits, if the server can. */
export function PushButton(): JSX.Element | null {
  const isBusy = useSignal(false);
  useEffect(() => {
    if (hasRole("approver")) void loadPush();
  }, []);
  if (isNotified.value === undefined) return null;
  const change = async (): Promise<void> => {
    isBusy.value = true;
    await (isNotified.value === true ? unsubscribe() : subscribe());
    isBusy.value = false;
  };
  return (
    <>
      <button type="button" onClick={change} disabled={isBusy}>
        {isNotified.value ? "Stop notifying this browser" : "Notify this browser"}
      </button>
      <Problem of={pushProblem} />
    </>
  );
}

/** Whether the server notifies this browser. `undefined` if it cannot, or that is not known yet. */
const isNotified: Signal<boolean | undefined> = signal(undefined);

/** Why the last change failed; `""` if it did not. */
const pushProblem: Signal<string> = signal("");

const WORKER = "/console/service-worker.js";

// The next person at this browser is not to read what waits for this one.
beforeLogOut.push(async () => {
  if (isNotified.peek() === true) await unsubscribe();
});

let publicKey: string | undefined;

/** Finds out whether the server can notify this browser, and does. */
async function loadPush(): Promise<void> {
  // Browsers have these only with HTTPS.
  if (!("serviceWorker" in navigator) || !("PushManager" in globalThis)) return;
  try {
    publicKey ??= await readPushKey();
    if (publicKey === undefined) return;
    const subscription = await current();
    // Another person may have used the browser, or the server have lost its file.
    if (subscription !== undefined) await addPush(subscription.toJSON());
    isNotified.value = subscription !== undefined;
  } catch (error) {
    pushProblem.value = messageOf(error);
  }
}

/** Has this browser notified. Browsers ask the person only after a click. */
async function subscribe(): Promise<void> {
  pushProblem.value = "";
  if ((await Notification.requestPermission()) !== "granted") {
    pushProblem.value =
      "This browser shows no notifications of this page: allow them in its settings of the page.";
    return;
  }
  try {
    const registration = await navigator.serviceWorker.register(WORKER);
    const options = { userVisibleOnly: true, applicationServerKey: publicKey ?? null };
    const subscription = await registration.pushManager.subscribe(options);
    await addPush(subscription.toJSON());
    isNotified.value = true;
  } catch (error) {
    pushProblem.value =
      error instanceof DOMException
        ? "This browser reaches no push service. Try another one."
        : messageOf(error);
  }
}

/** Has this browser notified no longer. */
async function unsubscribe(): Promise<void> {
  pushProblem.value = "";
  try {
    const subscription = await current();
    if (subscription !== undefined) {
      await removePush(subscription);
      await subscription.unsubscribe();
    }
    isNotified.value = false;
  } catch (error) {
    pushProblem.value = messageOf(error);
  }
}

async function current(): Promise<PushSubscription | undefined> {
  const registration = await navigator.serviceWorker.getRegistration(WORKER);
  return (await registration?.pushManager.getSubscription()) ?? undefined;
}

/** Returns the key with which browsers subscribe, in base64url; `undefined` if the server notifies no browsers. */
async function readPushKey(): Promise<string | undefined> {
  try {
    return (await get("GET /v1/console/push")).publicKey;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** Subscribes a browser to notifications. */
function addPush({ endpoint, keys }: PushSubscriptionJSON): Promise<undefined> {
  return send("POST /v1/console/push", { body: { endpoint, keys } as NewPush });
}

/** Unsubscribes a browser from notifications. */
function removePush({ endpoint }: Pick<PushSubscription, "endpoint">): Promise<undefined> {
  return send("DELETE /v1/console/push", { body: { endpoint } });
}
