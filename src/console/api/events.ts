import { type Signal, signal } from "@preact/signals";
import type { CallSummary } from "./calls.ts";
import { loadSession, type ServerInfo, server } from "./session.ts";

/** Whether events arrive. */
export const isConnected: Signal<boolean> = signal(false);

/** What is told of the events of the server. */
export interface EventListeners {
  readonly onCalls: (calls: readonly CallSummary[]) => void;
  /** The list of open inquiries, or of sessions, may have changed. */
  readonly onAttention: () => void;
  /** Events may be missing: after a connection, and if the server has dropped some. */
  readonly onGap: () => void;
}

const RETRY_MS = 3_000;

/** Listens to the events of the server until the returned function is called. Connects again whenever it has to. */
export function listen({ onCalls, onAttention, onGap }: EventListeners): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const open = (): void => {
    source = new EventSource("/v1/calls/events");
    source.addEventListener("open", () => {
      isConnected.value = true;
      onGap();
    });
    source.addEventListener("calls", ({ data }) => onCalls(JSON.parse(data).calls));
    source.addEventListener("attention", onAttention);
    source.addEventListener("lost", onGap);
    source.addEventListener("server", ({ data }) => {
      const { server: told = {}, ...flat } = JSON.parse(data) as { server?: Partial<ServerInfo> };
      if (server.value !== undefined) server.value = { ...server.value, ...flat, ...told };
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
