import { canonicalText } from "../../src/json/canonical.ts";
import type { JsonValue } from "../../src/json/value.ts";
import type { ApprovalTable } from "../../src/sessions/approvals.ts";
import type {
  CallConfirmation,
  ConfirmationRecord,
  ConfirmationTable,
} from "../../src/sessions/confirmations/confirmation.ts";
import type { CallTable, SessionTable } from "../../src/sessions/store/store.ts";
import type { Ending } from "./interleave.ts";
import type { Step, Vector } from "./vector.ts";
import { POLICY_QUESTION, type Run } from "./world.ts";

/** What must not happen. */
export const FAULTS = [
  "wrong arguments",
  "double",
  "lost",
  "rejected but run",
  "approval forgotten",
] as const;
export type Fault = (typeof FAULTS)[number];

/** What an interleaving has left behind. */
export interface Remains extends Pick<Ending, "hasEnded" | "crashes"> {
  readonly vector: Vector;
  readonly runs: readonly Run[];
  /** What is durable. */
  readonly store: Pick<
    SessionTable & CallTable & ConfirmationTable & ApprovalTable,
    "messages" | "calls" | "confirmation" | "approvals"
  >;
  /** The ids of all confirmations, the lost ones too. */
  readonly confirmationIds: readonly string[];
}

/** Returns what went wrong in an interleaving. */
export async function faultsOf(remains: Remains): Promise<readonly Fault[]> {
  const { vector, runs, store, confirmationIds, hasEnded, crashes } = remains;
  const faults: Fault[] = [];
  if (!hasEnded) return ["lost"];
  const confirmations: ConfirmationRecord[] = [];
  for (const id of confirmationIds) confirmations.push(...[(await store.confirmation(id)) ?? []].flat());
  const isDisturbed = vector.actors
    .flat()
    .some((step) => ["cancel", "policy", "definition", "fail-store"].includes(step.do));
  /** Whether some calls need no answer of their own. */
  const asksNotAlways = vector.actors
    .flat()
    .some((step) => (step.do === "policy" && step.to === "auto") || isAlways(step));
  const attributed = new Set<Run>();
  for (const { session, turn, id } of vector.messages) {
    // As they were received: the caller may have changed them before.
    const messages = await store.messages(session, turn);
    const calls = messages.find(({ messageId }) => messageId === id)?.calls ?? [];
    for (const { callId, state, execution } of await store.calls(session, turn, id)) {
      const asked = confirmations.filter(
        ({ confirmation }) =>
          confirmation.sessionId === session &&
          confirmation.messageId === id &&
          confirmation.callId === callId,
      );
      const call = calls.find((other) => other.id === callId);
      const isRead = call?.name === "read";
      /** The calls of other messages with the same id have other arguments. */
      const own = [call?.arguments, ...asked.map(({ resolution }) => resolution?.arguments)].map(textOf);
      const mine = runs.filter(
        (run) =>
          run.key === JSON.stringify([session, turn, callId]) &&
          own.includes(run.arguments) &&
          attributed.add(run),
      );
      if (mine.length > 1) faults.push("double");
      const allowed = asked.filter(({ resolution }) => resolution?.decision === "allow");
      // Whoever was asked has to have answered, whatever the policy says later.
      const isFree = isRead || (asked.length === 0 && asksNotAlways);
      if (mine.length > 0 && allowed.length === 0 && !isFree) faults.push("rejected but run");
      else if (!isFree && mine.some((run) => !asked.some((record) => covers(record, run)))) {
        faults.push("wrong arguments");
      }
      if (state !== "ended") faults.push("lost");
      const isInterrupted = crashes > 0 && execution?.error?.effect === "unknown";
      if (mine.length === 0 && allowed.length > 0 && !isDisturbed && !isInterrupted) faults.push("lost");
    }
  }
  const approvals = new Set((await store.approvals()).map(({ approval }) => approval.id));
  const isForgotten = confirmations.some(
    ({ confirmation, resolution }) => resolution?.choice === "always" && !approvals.has(confirmation.id),
  );
  if (isForgotten) faults.push("approval forgotten");
  for (const run of runs) if (!attributed.has(run)) faults.push("wrong arguments");
  return faults;
}

function isAlways(step: Step): boolean {
  return step.do === "answer" && step.decision === "always";
}

function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : canonicalText(value);
}

/** Whether a person allowed a run as it was: arguments, definition, and no more than the grant. */
function covers({ confirmation, resolution }: ConfirmationRecord, run: Run): boolean {
  if (resolution?.decision !== "allow") return false;
  const edited = resolution.arguments;
  // The grant of other arguments was not shown.
  if (edited !== undefined) return canonicalText(edited) === run.arguments;
  if (confirmation.kind === "question") return false;
  return (
    confirmation.shown.arguments === run.arguments &&
    isDefinition(confirmation, run) &&
    isWithin(confirmation, run)
  );
}

function isDefinition({ shown }: CallConfirmation, { definition }: Run): boolean {
  // Under a policy that asks about nothing, the question is that of the session, which does not name the definition.
  return shown.question.endsWith(definition) || !shown.question.startsWith(POLICY_QUESTION);
}

function isWithin({ shown }: CallConfirmation, { wallTimeMs = Number.POSITIVE_INFINITY }: Run): boolean {
  return wallTimeMs <= (shown.grant.limits.wallTimeMs ?? Number.POSITIVE_INFINITY);
}
