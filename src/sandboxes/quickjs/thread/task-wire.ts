import type { PoolOutcome } from "../../threads/pool-task.ts";
import type { ExternalAccess, FileUse } from "./external-access.ts";
import type { QuickJsAnswer, QuickJsEnd, QuickJsTask } from "./thread-task.ts";

/**
 * A step as it is sent to a thread. It is an array, because cloning the keys of an object would take longer than
 * cloning the values. The first step of a call is represented by its input.
 */
export type WireTask = readonly [...BareTask, access?: ExternalAccess | undefined, toolNames?: string];

/** A step of a call that is granted neither files nor the network. */
type BareTask = readonly [
  step: string | QuickJsTask["step"],
  owner: string,
  wallTimeMs: number,
  memoryBytes: number,
  outputBytes: number,
  logLines: number,
  logBytes: number,
  nestedLeft: number,
  nestedGranted: number,
  frozenClock: number | undefined,
  randomState: bigint | undefined,
];

/** An answer as it is sent back. An output is represented by its text. */
export type WireAnswer = readonly [...BareAnswer, files?: FileUse];

type BareAnswer = readonly [
  end: string | QuickJsEnd,
  memoryBytes: number,
  hitMemoryCap: boolean,
  logLines: number,
  logBytes: number,
];

export function encodeTask(task: QuickJsTask): WireTask {
  const { step, owner, wallTimeMs, memoryBytes, outputBytes, log, nested, access, frozenClock, toolNames } =
    task;
  const isStart = step.kind === "start";
  const wire: BareTask = [
    isStart ? step.input : step,
    owner,
    wallTimeMs,
    memoryBytes,
    outputBytes,
    log.lines,
    log.bytes,
    nested.left,
    nested.granted,
    frozenClock,
    isStart ? step.randomState : undefined,
  ];
  if (toolNames !== undefined) return [...wire, access, toolNames];
  return access === undefined ? wire : [...wire, access];
}

export function decodeTask(wire: WireTask): QuickJsTask {
  const [step, owner, wallTimeMs, memoryBytes, outputBytes, lines, bytes, left, granted] = wire;
  const { 9: frozenClock, 10: randomState = 1n, 11: access, 12: toolNames } = wire;
  return {
    step: typeof step === "string" ? { kind: "start", input: step, randomState } : step,
    owner,
    wallTimeMs,
    memoryBytes,
    outputBytes,
    log: { lines, bytes },
    nested: { left, granted },
    access,
    frozenClock,
    toolNames,
  };
}

export function encodeAnswer(
  end: QuickJsEnd,
  { memoryBytes, hitMemoryCap, log, files }: Omit<QuickJsAnswer, keyof QuickJsEnd>,
): WireAnswer {
  const text = end.status === "returned" ? end.text : end;
  const wire: BareAnswer = [text, memoryBytes, hitMemoryCap, log.lines, log.bytes];
  return files === undefined ? wire : [...wire, files];
}

/** Decodes the outcome of a step in a thread. */
export function decodeOutcome(outcome: PoolOutcome<WireAnswer>): PoolOutcome<QuickJsAnswer> {
  if (outcome.status !== "returned") return outcome;
  return { ...outcome, result: decodeAnswer(outcome.result) };
}

function decodeAnswer([end, memoryBytes, hitMemoryCap, lines, bytes, files]: WireAnswer): QuickJsAnswer {
  const measured = { memoryBytes, hitMemoryCap, log: { lines, bytes }, files };
  return typeof end === "string" ? { status: "returned", text: end, ...measured } : { ...end, ...measured };
}
