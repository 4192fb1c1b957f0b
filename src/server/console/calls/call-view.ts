import type { Redaction } from "../../../redaction/redaction.ts";
import { render, textOf } from "../../../rendering/render.ts";
import { toLine } from "../../../rendering/shown.ts";
import type { Client } from "../../access/client.ts";
import type { CallRecord } from "./call-record.ts";

/** Returns the reference of a call, which holds until the server ends. */
export function refOf(epoch: string, number: number): string {
  return `${epoch}-${number}`;
}

/** Returns the number of a reference; `undefined` if it is of another process, or none. */
export function numberOf(epoch: string, ref: string): number | undefined {
  const [, of, number] = /^([\w]+)-([1-9][0-9]{0,14})$/.exec(ref) ?? [];
  return of === epoch ? Number(number) : undefined;
}

/** Whether a client may know about a call. */
export function sees(client: Client, { origin, principal }: CallRecord): boolean {
  if (client.is("reader") || client.is("admin")) return true;
  return origin === "session" && client.approves({ principal });
}

/** The most characters of the name of a session. */
const NAME_CHARS = 128;

/** The most characters of the arguments that are listed. */
const SUMMARY_CHARS = 200;

/** What was listed of the arguments of calls, and of which text it was made. */
const summaries = new WeakMap<CallRecord, { readonly of: string; readonly summary: string }>();

/** Returns the beginning and the end of a call's arguments in a line, without secrets. */
function summaryOf(record: CallRecord, redaction: Redaction): string | undefined {
  const of = record.argumentsText;
  if (of === undefined) return undefined;
  const known = summaries.get(record);
  if (known?.of === of) return known.summary;
  const summary = textOf(render(redaction.text(of), { syntax: "json", chars: SUMMARY_CHARS }));
  summaries.set(record, { of, summary });
  return summary;
}

/**
 * A call as it is listed.
 *
 * @param redaction Hides secrets in the arguments.
 */
export function callSummary(record: CallRecord, epoch: string, redaction: Redaction): object {
  const {
    callId,
    toolName,
    sessionId,
    session,
    sideEffects,
    phases,
    state,
    parent,
    principal,
    decision,
    error,
  } = record;
  const { sandbox, durationMs, requestId } = record;
  const summary = summaryOf(record, redaction);
  return {
    ref: refOf(epoch, record.number),
    callId,
    toolName,
    sessionId,
    ...(session && {
      session: {
        ...(session.name !== undefined && { name: toLine(session.name, NAME_CHARS) }),
        openedAt: session.openedAt,
      },
    }),
    ...(parent !== undefined && { parent: refOf(epoch, parent) }),
    ...(principal !== undefined && { principal: { id: principal.id, kind: principal.kind } }),
    sideEffects,
    startedAt: Math.round(phases.startedAt),
    state,
    ...(summary !== undefined && { summary }),
    ...(state === "waiting" && requestId !== undefined && { requestId }),
    ...(decision && { decision: decision.decision }),
    ...(error && { code: error.code, effect: error.effect }),
    ...(sandbox !== undefined && { sandbox }),
    ...(durationMs !== undefined && { durationMs }),
    phases: record.phaseList,
  };
}
