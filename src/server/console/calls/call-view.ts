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

/** A call as it is listed. */
export function callSummary(record: CallRecord, epoch: string): object {
  const { callId, toolName, sessionId, sideEffects, phases, state, parent, principal, decision, error } =
    record;
  const { sandbox, durationMs } = record;
  return {
    ...{ ref: refOf(epoch, record.number), callId, toolName, sessionId },
    ...(parent !== undefined && { parent: refOf(epoch, parent) }),
    ...(principal !== undefined && { principal: { id: principal.id, kind: principal.kind } }),
    ...{ sideEffects, startedAt: Math.round(phases.startedAt), state },
    ...(decision && { decision: decision.decision }),
    ...(error && { code: error.code, effect: error.effect }),
    ...(sandbox !== undefined && { sandbox }),
    ...(durationMs !== undefined && { durationMs }),
    phases: record.phaseList,
  };
}
