import { createHash } from "node:crypto";
import type { ToolExecution } from "../../../src/engine/call/execution.ts";
import { canonicalText } from "../../../src/json/canonical.ts";
import type { JsonValue } from "../../../src/json/value.ts";
import type { ToldAnswer } from "./approvers.ts";
import type { Effect } from "./effects.ts";
import type { AskedMessage } from "./load.ts";
import { faultOfProgram, INNER_TOOLS, innerName } from "./programs.ts";

/** What a run has left behind. */
export interface Outcome {
  readonly messages: readonly Pick<AskedMessage, "messageId" | "calls" | "reads">[];
  readonly effects: readonly Effect[];
  readonly told: readonly ToldAnswer[];
}

/** How often each thing happened. */
export interface Counts {
  readonly calls: number;
  /** Calls without a result. */
  lost: number;
  /** Calls that had their effect twice where that must not be, or under two keys. */
  doubled: number;
  /** Calls that ended as interrupted. */
  unknown: number;
  /** Of them, those that had their effect. */
  unknownWithEffect: number;
  /** Idempotent calls that ran more than once, under one key. */
  repeated: number;
  /** Calls that failed with no effect, by the code of their error. */
  failed: Record<string, number>;
  /** Programs that have their result. */
  programs: number;
  confirmations: number;
  answers: number;
}

/** What was found out about a run. */
export interface Checked {
  readonly counts: Counts;
  /** The promises that were broken. */
  readonly faults: readonly string[];
}

/** Compares what clients were told with what the tools have done. */
export function check({ messages, effects, told }: Outcome): Checked {
  const faults: string[] = [];
  const done = groupBy(effects, ({ name }) => name);
  const answers = groupBy(told, ({ name }) => name);
  const counts: Counts = {
    calls: messages.reduce((sum, { calls }) => sum + calls.length, 0),
    lost: 0,
    doubled: 0,
    unknown: 0,
    unknownWithEffect: 0,
    repeated: 0,
    failed: {},
    programs: 0,
    confirmations: groupBy(told, ({ confirmationId }) => confirmationId).size,
    answers: told.length,
  };
  const known = new Set<string>();
  for (const { messageId, calls, reads } of messages) {
    if (new Set(reads.map(digestOf)).size > 1)
      faults.push(`${messageId}: those who asked read different results`);
    for (const [index, call] of calls.entries()) {
      const name = `${messageId}/${call.id}`;
      known.add(name);
      const lines = done.get(name) ?? [];
      const result = reads[0]?.[index];
      const winner = winnerOf(name, answers.get(name) ?? [], result, faults);
      if (result === undefined || result === null) {
        counts.lost++;
        faults.push(`${name}: lost, ${lines.length} effects`);
        continue;
      }
      count(counts, result, lines);
      const isProgram = call.name === "run_program";
      if (isProgram) for (const tool of INNER_TOOLS) known.add(innerName(name, tool));
      const fault = isProgram
        ? faultOfProgram(name, result, (inner) => done.get(inner) ?? [], winner)
        : (faultOf(call.name, result, lines) ?? faultOfAnswer(call.name, result, lines, winner));
      if (isProgram) counts.programs++;
      if (fault === undefined) continue;
      if (lines.length > 1) counts.doubled++;
      faults.push(`${name}: '${call.name}' ${fault}`);
    }
  }
  for (const name of done.keys()) if (!known.has(name)) faults.push(`${name}: an effect without a call`);
  return { counts, faults };
}

function count(counts: Counts, { success, error }: ToolExecution, lines: readonly Effect[]): void {
  if (lines.length > 1) counts.repeated++;
  if (success) return;
  if (error?.effect === "unknown") {
    counts.unknown++;
    if (lines.length > 0) counts.unknownWithEffect++;
    return;
  }
  const code = error?.code ?? "none";
  counts.failed[code] = (counts.failed[code] ?? 0) + 1;
}

/** Returns how the effects of a call differ from its result; `undefined` if they do not. */
function faultOf(
  tool: string,
  { success, error }: ToolExecution,
  lines: readonly Effect[],
): string | undefined {
  const isRepeatable = ["put", "read", "pure"].includes(tool);
  if (!isRepeatable && lines.length > 1) return `had its effect ${lines.length} times`;
  if (new Set(lines.map(({ key }) => key)).size > 1) return "had its effect under different keys";
  if (success) return lines.length === 0 ? "succeeded without an effect" : undefined;
  if (error?.effect === "unknown") {
    return isRepeatable ? "ended as interrupted, and could have run again" : undefined;
  }
  return lines.length === 0 ? undefined : `failed with ${error?.code} and had its effect`;
}

function faultOfAnswer(
  tool: string,
  { success, error, confirmation }: ToolExecution,
  lines: readonly Effect[],
  winner: ToldAnswer | undefined,
): string | undefined {
  if (tool !== "asks") return undefined;
  const isAllowed = winner?.won === "allow";
  if (lines.length > 0 && !isAllowed) return "ran without being allowed";
  if (success && confirmation?.by !== winner?.winner)
    return "names another person than the one who was first";
  if (!success && isAllowed && error?.effect !== "unknown")
    return `was allowed and ended with ${error?.code}`;
  return winner !== undefined && !isAllowed && error?.code !== "user_denied"
    ? `was denied and ended with ${error?.code}`
    : undefined;
}

/**
 * Checks that one answer was first, and that all others learned which. Returns it. Where a call was interrupted, its
 * confirmation is cancelled, and all answers may learn that.
 */
function winnerOf(
  name: string,
  told: readonly ToldAnswer[],
  result: ToolExecution | null | undefined,
  faults: string[],
): ToldAnswer | undefined {
  if (told.length === 0) return undefined;
  if (result?.error?.effect === "unknown" && told.every(({ outcome }) => outcome === "gone"))
    return undefined;
  if (new Set(told.map(({ confirmationId }) => confirmationId)).size > 1)
    faults.push(`${name}: was asked about twice`);
  const first = told.filter(({ outcome }) => outcome === "resolved");
  const lost = told.filter(({ outcome }) => outcome === "lost");
  if (first.length !== 1 || first.length + lost.length !== told.length) {
    const outcomes = told.map(({ by, outcome }) => `${by} ${outcome}`).join(", ");
    const { success, error, output } = result ?? {};
    faults.push(`${name}: answers ended as ${outcomes}: ${JSON.stringify({ success, error, output })}`);
  }
  if (new Set(told.map(({ winner, won }) => `${winner} ${won}`)).size > 1) {
    faults.push(`${name}: people were told of different winners`);
  }
  return first[0];
}

function digestOf(executions: readonly ToolExecution[]): string {
  return createHash("sha256")
    .update(canonicalText(executions as unknown as JsonValue))
    .digest("hex");
}

function groupBy<Value>(values: readonly Value[], keyOf: (value: Value) => string): Map<string, Value[]> {
  const groups = new Map<string, Value[]>();
  for (const value of values) {
    const group = groups.get(keyOf(value));
    if (group === undefined) groups.set(keyOf(value), [value]);
    else group.push(value);
  }
  return groups;
}
