import { type Signal, signal } from "@preact/signals";
import type { CallFeedEvent, CallSummary } from "../../shapes/calls.ts";
import { requestTo } from "../../shapes/client.ts";
import type { ConsoleServer, ConsoleSession } from "../../shapes/server.ts";
import { ApiError, get, isSignedIn, messageOf, send } from "./http.ts";

/** Whether events arrive. */
export const isConnected: Signal<boolean> = signal(false);

/** Called with the events of the server. */
interface EventListeners {
  readonly onCalls: (calls: readonly CallSummary[]) => void;
  /** The list of open confirmations, or of sessions, may have changed. */
  readonly onAttention: () => void;
  /** Events may be missing: after a connection, and if the server has dropped some. */
  readonly onGap: () => void;
}

const RETRY_MS = 3_000;

/** The user of the page; `undefined` before the login. */
export const viewer: Signal<ConsoleSession | undefined> = signal(undefined);

/** The server that the page is from; `undefined` before the login. */
export const server: Signal<ConsoleServer | undefined> = signal(undefined);

/** Why the last login failed; `""` if it did not. */
export const loginProblem: Signal<string> = signal("");

/**
 * Reads the user of the page. Without a session, the page shows the login. If the user has changed, the page is reloaded: the
 * new one may not be allowed to see what it shows.
 */
export async function loadSession(): Promise<void> {
  try {
    const session = await get("GET /v1/console/session");
    if (viewer.value !== undefined && viewer.value.principal?.id !== session.principal?.id) {
      location.reload();
      return;
    }
    viewer.value = session;
    server.value = session.server;
    loginProblem.value = "";
    isSignedIn.value = true;
  } catch (error) {
    const isUnknown = error instanceof ApiError && error.status === 401;
    // A server that is restarting may still know the browser.
    if (isUnknown || viewer.value === undefined) isSignedIn.value = false;
    if (!isUnknown) loginProblem.value = messageOf(error);
  }
}

/** Exchanges a token for a cookie. */
export async function logIn(token: string): Promise<void> {
  try {
    await send("POST /v1/console/session", { body: { token } });
  } catch (error) {
    isSignedIn.value = false;
    loginProblem.value = messageOf(error);
    return;
  }
  await loadSession();
}

/** What ends with a login on this browser. None of them rejects. */
export const beforeLogOut: (() => Promise<void>)[] = [];

/** Makes the server forget the cookie, and the page everything that it has read. */
export async function logOut(): Promise<void> {
  try {
    for (const end of beforeLogOut) await end();
    await send("DELETE /v1/console/session");
  } catch (error) {
    loginProblem.value = messageOf(error);
    viewer.value = undefined;
    isSignedIn.value = false;
    return;
  }
  location.reload();
}

/** Whether the person has one of some roles. */
export function hasRole(...roles: ConsoleSession["roles"]): boolean {
  return roles.some((role) => viewer.value?.roles.includes(role));
}

function eventOf<Type extends CallFeedEvent["type"]>(
  data: string,
): Extract<CallFeedEvent, { readonly type: Type }> {
  return JSON.parse(data) as Extract<CallFeedEvent, { readonly type: Type }>;
}

/** Listens to the events of the server until the returned function is called. Connects again whenever it has to. */
export function listen({ onCalls, onAttention, onGap }: EventListeners): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const open = (): void => {
    source = new EventSource(requestTo("GET /v1/calls/events").path);
    source.addEventListener("open", () => {
      isConnected.value = true;
      onGap();
    });
    source.addEventListener("calls", ({ data }) => onCalls(eventOf<"calls">(data).calls));
    source.addEventListener("attention", onAttention);
    source.addEventListener("lost", onGap);
    source.addEventListener("server", ({ data }) => {
      if (server.value !== undefined) server.value = eventOf<"server">(data).server;
    });
    source.addEventListener("error", () => {
      isConnected.value = false;
      // The browser connects again by itself unless the server answered with a status.
      if (source?.readyState !== EventSource.CLOSED) return;
      void loadSession();
      timer = setTimeout(open, RETRY_MS);
    });
  };
  open();
  return () => {
    source?.close();
    clearTimeout(timer);
    isConnected.value = false;
  };
}
