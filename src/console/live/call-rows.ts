import type { CallSummary } from "../../shapes/calls.ts";
import { shownState } from "../api/requests.ts";

/** Which calls are shown. An empty text matches every call. */
export interface CallFilter {
  /** Part of a session's id, or of its name. */
  readonly session: string;
  /** Part of a tool's name. */
  readonly tool: string;
  readonly state: string;
  /** Part of a code. */
  readonly code: string;
}

/** A call in the list. */
export interface CallRow {
  readonly call: CallSummary;
  /** The number of calls above it: 0 for one that no shown call made. */
  readonly depth: number;
  /** When the outermost call above it began, in milliseconds since the epoch. */
  readonly from: number;
  /** How long that call and all below it took, in milliseconds: the width of the waterfall. */
  readonly span: number;
}

/**
 * Arranges calls: the newest first, and below each call those that its tool made, in the order in which they began. A call
 * that does not match is there if one below it does.
 *
 * @param now In milliseconds since the epoch: until when running calls have run.
 */
export function callRows(calls: readonly CallSummary[], filter: CallFilter, now: number): readonly CallRow[] {
  const byRef = new Map(calls.map((call) => [call.ref, call]));
  const shown = isEmpty(filter) ? byRef : withParents(calls, filter, byRef);
  const children = new Map<string, CallSummary[]>();
  const roots: CallSummary[] = [];
  for (const call of shown.values()) {
    if (call.parent === undefined || !shown.has(call.parent)) roots.push(call);
    else {
      const siblings = children.get(call.parent);
      if (siblings === undefined) children.set(call.parent, [call]);
      else siblings.push(call);
    }
  }
  for (const siblings of children.values()) siblings.sort((one, other) => one.startedAt - other.startedAt);
  roots.sort((one, other) => other.startedAt - one.startedAt || numberOf(other) - numberOf(one));
  return roots.flatMap((root) => rowsOf(root, children, now));
}

/** References end with a number that grows. */
function numberOf({ ref }: CallSummary): number {
  return Number(ref.slice(ref.lastIndexOf("-") + 1));
}

function rowsOf(
  root: CallSummary,
  children: ReadonlyMap<string, readonly CallSummary[]>,
  now: number,
): readonly CallRow[] {
  const found: { readonly call: CallSummary; readonly depth: number }[] = [];
  const stack = [{ call: root, depth: 0 }];
  let end = root.startedAt;
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    const { call, depth } = top;
    found.push(top);
    end = Math.max(end, call.startedAt + (call.durationMs ?? Math.max(0, now - call.startedAt)));
    for (const child of (children.get(call.ref) ?? []).toReversed())
      stack.push({ call: child, depth: depth + 1 });
  }
  const span = Math.max(end - root.startedAt, 0.001);
  return found.map((row) => ({ ...row, from: root.startedAt, span }));
}

/** Whether every call matches. */
export function isEmpty({ session, tool, state, code }: CallFilter): boolean {
  return session === "" && tool === "" && state === "" && code === "";
}

function withParents(
  calls: readonly CallSummary[],
  filter: CallFilter,
  byRef: ReadonlyMap<string, CallSummary>,
): ReadonlyMap<string, CallSummary> {
  const shown = new Map<string, CallSummary>();
  for (const call of calls) {
    if (!matches(call, filter)) continue;
    let above: CallSummary | undefined = call;
    while (above !== undefined && !shown.has(above.ref)) {
      shown.set(above.ref, above);
      above = above.parent === undefined ? undefined : byRef.get(above.parent);
    }
  }
  return shown;
}

function matches(call: CallSummary, { session, tool, state, code }: CallFilter): boolean {
  return (
    (session === "" || [call.sessionId, call.session?.name].some((text) => text?.includes(session))) &&
    (tool === "" || call.toolName.includes(tool)) &&
    (state === "" || shownState(call) === state || (state === "ended" && !isOpen(call))) &&
    (code === "" || (call.code?.includes(code) ?? false))
  );
}

/** Whether a call has not ended. */
export function isOpen({ state }: CallSummary): boolean {
  return state === "running" || state === "waiting";
}
