import { type Signal, signal } from "@preact/signals";
import type { CallSummary, Calls } from "../../shapes/calls.ts";
import { get, messageOf, rereading } from "../api/http.ts";
import { type CallFilter, isEmpty, isOpen } from "./call-rows.ts";

/** Maximum number of calls that the page stores, as many as the server. */
const MAX_CALLS = 10_000;
const PAGE = 500;

const known = new Map<string, CallSummary>();
let next: string | undefined;
let isReadingOlder = false;
let found: CallFilter | undefined;

/** The calls that the page knows, in no order. A new array whenever one changes. */
export const calls: Signal<readonly CallSummary[]> = signal([]);

/** Why calls could not be read; `""` if they could. */
export const callsProblem: Signal<string> = signal("");

/** Whether the calls have been read once. */
export const hasLoaded: Signal<boolean> = signal(false);

/** Takes calls that began or changed. Beyond ten thousand, the oldest ones are forgotten. */
export function takeCalls(changed: readonly CallSummary[]): void {
  for (const call of changed) known.set(call.ref, call);
  if (known.size > MAX_CALLS) {
    const oldest = [...known.values()].sort((one, other) => one.startedAt - other.startedAt);
    for (const { ref } of oldest.slice(0, known.size - MAX_CALLS)) known.delete(ref);
  }
  calls.value = [...known.values()];
}

/** The newest call of the latest complete reading; `""` if there was none, and `undefined` before the first reading. */
let mark: string | undefined;

/**
 * Reads the newest calls: one page at first. Later, it reads all that the page may have missed: calls that
 * began, and calls that ended. A call while it reads makes it read once more.
 */
export const loadCalls: () => Promise<void> = rereading(readNewest, callsProblem, () => {
  hasLoaded.value = true;
});

async function readNewest(): Promise<void> {
  const open = new Set([...known.values()].filter(isOpen).map(({ ref }) => ref));
  const isFirst = mark === undefined;
  let newest: string | undefined;
  let hasMark = isFirst;
  let before: string | undefined;
  do {
    const page: Calls = await get("GET /v1/calls", { query: { limit: PAGE, before } });
    before = page.next;
    newest ??= page.calls[0]?.ref;
    for (const { ref } of page.calls) open.delete(ref);
    hasMark ||= page.calls.some(({ ref }) => ref === mark);
    takeCalls(page.calls);
  } while (before !== undefined && (!hasMark || (!isFirst && open.size > 0)));
  mark = newest ?? "";
  if (isFirst || before === undefined) next = before;
  if (before !== undefined) return;
  // The server was started anew, and does not have them any more.
  for (const ref of open) known.delete(ref);
  takeCalls([]);
}

/** Reads calls that are older than the known ones, if there are any. */
export async function loadOlderCalls(): Promise<void> {
  if (next === undefined || isReadingOlder || known.size >= MAX_CALLS) return;
  isReadingOlder = true;
  try {
    const page = await get("GET /v1/calls", { query: { limit: PAGE, before: next } });
    next = page.next;
    takeCalls(page.calls);
    callsProblem.value = "";
  } catch (error) {
    callsProblem.value = messageOf(error);
  } finally {
    isReadingOlder = false;
  }
}

/** Reads all calls that match a filter, if the server has more than the page knows. A later filter ends it. */
export async function findCalls(filter: CallFilter): Promise<void> {
  found = filter;
  if (isEmpty(filter) || next === undefined) return;
  const { state, ...texts } = filter;
  const asked = {
    ...texts,
    state: state === "" || state === "running" || state === "waiting" ? state : "ended",
  } as const;
  try {
    let before: string | undefined = next;
    while (before !== undefined && found === filter) {
      const page: Calls = await get("GET /v1/calls", { query: { ...asked, limit: PAGE, before } });
      takeCalls(page.calls);
      before = page.next;
    }
    callsProblem.value = "";
  } catch (error) {
    callsProblem.value = messageOf(error);
  }
}
