import { boundFailure } from "../../contract/failure-text.ts";
import { outputProblem } from "../../contract/output-bounds.ts";
import type { EngineInstance } from "../engine/engine-instance.ts";
import type { GuestProgram } from "../guest-program.ts";
import { translateFrames } from "../source-maps/positions.ts";
import { readPositions } from "../source-maps/read-positions.ts";
import type { GuestEnd } from "./guest.ts";
import type { GuestBorder } from "./guest-border.ts";
import { guestLines, readGuestFailure } from "./guest-failure.ts";
import type { QuickJsArtifact, QuickJsEnd, QuickJsTask } from "./thread-task.ts";

/**
 * Converts how the guest's step ended to the thread's answer. Everything that the guest wrote is bounded here, before
 * the process receives it.
 *
 * @param artifact The artifact of the step, unless it loaded a tool.
 */
export function endOfStep(
  end: GuestEnd,
  instance: EngineInstance,
  border: GuestBorder,
  task: QuickJsTask,
  artifact: unknown,
): QuickJsEnd {
  switch (end.status) {
    case "timeout":
      return timeoutEnd(instance, task);
    case "text":
      return endOfText(end.text, instance, border, task);
    case "pending":
      return endOfPending(end.wakeMs, instance, border, task, artifact);
  }
}

function endOfText(
  text: string,
  instance: EngineInstance,
  { missingModule }: GuestBorder,
  { step, outputBytes: maxBytes }: QuickJsTask,
): QuickJsEnd {
  if (step.kind === "load" && missingModule !== undefined)
    return { status: "needs_module", ...missingModule };
  const rest = text.slice(1);
  if (!text.startsWith("+")) {
    return { status: "failed", ...boundFailure(readGuestFailure(rest), maxBytes) };
  }
  if (step.kind === "load") return { status: "loaded", template: instance.snapshot() };
  // An output over its budget need not be transferred.
  const outputBytes = Buffer.byteLength(rest);
  if (outputBytes > maxBytes) return { status: "output_exceeded", outputBytes };
  const problem = outputProblem(rest);
  if (problem !== undefined)
    return { status: "failed", message: problem, detail: problem, userVisible: true };
  return { status: "returned", text: rest };
}

function endOfPending(
  wakeMs: number | undefined,
  instance: EngineInstance,
  border: GuestBorder,
  { step }: QuickJsTask,
  artifact: unknown,
): QuickJsEnd {
  const { requests } = border.validator;
  const outstanding = step.kind === "resume" ? step.outstanding : 0;
  if (requests.length + outstanding === 0 && (wakeMs === undefined || step.kind === "load")) {
    return { status: "stalled" };
  }
  // Requests are refused while a tool is loaded, so this is a call, which has a template.
  const guest = instance.suspend((artifact as QuickJsArtifact).template);
  return { status: "waiting", guest, requests, wakeMs };
}

/** Returns the end of a step that reached its deadline, with the place where the guest was. */
export function timeoutEnd({ interruptedAt = "" }: EngineInstance, { outputBytes }: QuickJsTask): QuickJsEnd {
  const lines = guestLines(interruptedAt);
  if (lines.length === 0) return { status: "timeout" };
  const { message: detail } = boundFailure({ message: [INTERRUPTED, ...lines].join("\n") }, outputBytes);
  return { status: "timeout", detail };
}

const INTERRUPTED = "its deadline interrupted it:";

/** Adds positions to the end of loading a tool: to the frames of a failure, or for later calls. */
export function locateEnd(end: QuickJsEnd, program: GuestProgram, { outputBytes }: QuickJsTask): QuickJsEnd {
  if (end.status === "loaded") return { ...end, positions: readPositions(program) };
  if ((end.status !== "failed" && end.status !== "timeout") || end.detail === undefined) return end;
  const positions = readPositions(program);
  if (positions === undefined) return end;
  const detail = translateFrames(end.detail, positions);
  return { ...end, detail: boundFailure({ message: detail }, outputBytes).message };
}

/** Returns the end of a step in which the engine broke. */
export function brokenEnd(thrown: unknown, { outputBytes }: QuickJsTask): QuickJsEnd {
  const detail = thrown instanceof Error ? String(thrown.stack) : String(thrown);
  return { status: "broken", detail: boundFailure({ message: detail }, outputBytes).message };
}
