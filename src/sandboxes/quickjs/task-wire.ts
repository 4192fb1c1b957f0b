import type { QuickJsAnswer, QuickJsEnd, QuickJsTask } from "./thread-task.ts";

/**
 * A step on its way to a thread. Arrays, as the keys of objects would take longer to cross than all that they
 * name: a first step is its input alone.
 */
export type WireTask = readonly [
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
  randomSeed: string | undefined,
];

/** An answer on its way back: a guest's text stands for itself. */
export type WireAnswer = readonly [
  end: string | QuickJsEnd,
  memoryBytes: number,
  hitMemoryCap: boolean,
  logLines: number,
  logBytes: number,
];

export function encodeTask(task: QuickJsTask): WireTask {
  const { step, owner, wallTimeMs, memoryBytes, outputBytes, log, nested, frozenClock } = task;
  const isStart = step.kind === "start";
  return [
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
    isStart ? step.randomSeed : undefined,
  ];
}

export function decodeTask(wire: WireTask): QuickJsTask {
  const [step, owner, wallTimeMs, memoryBytes, outputBytes, lines, bytes, left, granted, ...replay] = wire;
  const [frozenClock, randomSeed] = replay;
  return {
    step: typeof step === "string" ? { kind: "start", input: step, randomSeed } : step,
    owner,
    wallTimeMs,
    memoryBytes,
    outputBytes,
    log: { lines, bytes },
    nested: { left, granted },
    frozenClock,
  };
}

export function encodeAnswer(
  end: QuickJsEnd,
  { memoryBytes, hitMemoryCap, log }: Pick<QuickJsAnswer, "memoryBytes" | "hitMemoryCap" | "log">,
): WireAnswer {
  return [end.status === "text" ? end.text : end, memoryBytes, hitMemoryCap, log.lines, log.bytes];
}

export function decodeAnswer([end, memoryBytes, hitMemoryCap, lines, bytes]: WireAnswer): QuickJsAnswer {
  const log = { lines, bytes };
  return typeof end === "string"
    ? { status: "text", text: end, memoryBytes, hitMemoryCap, log }
    : { ...end, memoryBytes, hitMemoryCap, log };
}
