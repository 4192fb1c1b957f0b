import type { ReportingThread, ThreadMessage } from "../thread-message.ts";
import { msBetween } from "../thread-table.ts";
import type { PiscinaAnswer, PiscinaReport, PiscinaTask } from "./piscina-task.ts";

/** Runs one task in a thread of Piscina, which this module is a `filename` for. */
export default async function runPiscinaTask({ entry, fields, port }: PiscinaTask): Promise<PiscinaAnswer> {
  const report = (message: PiscinaReport): void => port.postMessage(message);
  let startedAt: bigint | undefined;
  const elapsedMs = (): number =>
    startedAt === undefined ? 0 : msBetween(startedAt, process.hrtime.bigint());
  const thread: ReportingThread = {
    markStarted() {
      startedAt = process.hrtime.bigint();
      report({ type: "started", at: startedAt });
    },
    report: (message: ThreadMessage) => report(message),
  };
  report({ type: "taken" });
  try {
    const { default: run } = (await programOf(entry)) as { default: RunTask };
    const result = await run(fields, thread);
    return { status: "returned", result, wallTimeMs: elapsedMs() };
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    return { status: "threw", error, wallTimeMs: elapsedMs() };
  } finally {
    port.close();
  }
}

/** What this thread has imported, since importing a module again takes longer than a small task. */
const programs = new Map<string, Promise<unknown>>();

function programOf(entry: string): Promise<unknown> {
  const known = programs.get(entry) ?? import(entry);
  programs.set(entry, known);
  return known;
}

type RunTask = (fields: unknown, thread: ReportingThread) => Promise<unknown>;
