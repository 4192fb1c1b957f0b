import { decode } from "@jridgewell/sourcemap-codec";
import { boundFailure } from "../../contract/failure.ts";
import { outputProblem } from "../../contract/output.ts";
import { webApisIn } from "../driver/globals.ts";
import type { EngineInstance } from "../engine/engine-instance.ts";
import {
  type ModulePositions,
  type Positions,
  SEGMENT_LENGTH,
  sourceMapUrl,
  translateFrames,
} from "../source-maps.ts";
import type { GuestBorder } from "./guest-border.ts";
import type { GuestProgram } from "./guest-program.ts";
import {
  guestLines,
  type QuickJsArtifact,
  type QuickJsEnd,
  type QuickJsTask,
  readGuestFailure,
} from "./thread-task.ts";

/** How a step of a guest ended. */
export type GuestEnd =
  /** With the driver's text: `+` and the output as JSON, or `-` and the failure as JSON. */
  | { readonly status: "text"; readonly text: string }
  | { readonly status: "timeout" }
  /** It waits, without an outcome yet. `wakeMs`: how long until its first timer is due, if it has one. */
  | { readonly status: "pending"; readonly wakeMs?: number };

/** Maximum number of positions of all modules together. More are ignored. */
const MAX_SEGMENTS = 500_000;

/** Maximum number of source files of a module, and the longest name of each in characters. */
const MAX_SOURCES = 10_000;

const MAX_NAME_LENGTH = 256;

const COMMA = 44;

const SEMICOLON = 59;

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

/**
 * Reads the source maps of a program: inline ones, and those of files next to its modules. Runs in a thread
 * that can be ended. A map that is invalid, too large, or has sections is ignored, since only stacks depend
 * on it.
 *
 * @returns `undefined` if there is none.
 */
export function readPositions({ sources, maps = {} }: GuestProgram): Positions | undefined {
  const positions = new Map<string, ModulePositions>();
  let left = MAX_SEGMENTS;
  for (const [name, source] of Object.entries(sources)) {
    const text = maps[name] ?? inlineMap(source);
    const read = text === undefined ? undefined : readMap(text, left);
    if (read === undefined) continue;
    positions.set(name, read);
    left -= read.segments.length / SEGMENT_LENGTH;
  }
  return positions.size === 0 ? undefined : positions;
}

function inlineMap(source: string): string | undefined {
  const url = sourceMapUrl(source);
  const start = url && /^data:application\/json(?:;charset=utf-?8)?;base64,/i.exec(url)?.[0];
  return start ? Buffer.from((url as string).slice(start.length), "base64").toString("utf8") : undefined;
}

function readMap(text: string, maxSegments: number): ModulePositions | undefined {
  try {
    const { version, mappings, sources, sourceRoot } = JSON.parse(text) as Record<string, unknown>;
    if (version !== 3 || typeof mappings !== "string" || !Array.isArray(sources)) return undefined;
    if (sources.length > MAX_SOURCES || countOf(mappings) > maxSegments) return undefined;
    const root =
      typeof sourceRoot === "string" && sourceRoot !== "" ? `${sourceRoot.replace(/\/$/, "")}/` : "";
    return { sources: sources.map((name) => shown(root + String(name))), ...segmentsOf(mappings) };
  } catch {
    return undefined;
  }
}

/** Counts the separators of mappings, so that a list is not decoded that is too long. */
function countOf(mappings: string): number {
  let count = 1;
  for (let i = 0; i < mappings.length; i++) {
    const code = mappings.charCodeAt(i);
    if (code === COMMA || code === SEMICOLON) count++;
  }
  return count;
}

/** Makes a name that is part of a stack: one line, and not too long. */
function shown(name: string): string {
  return name.slice(0, MAX_NAME_LENGTH).replace(/[\s\p{C}:()]/gu, "_");
}

function segmentsOf(mappings: string): Pick<ModulePositions, "lines" | "segments"> {
  const decoded = decode(mappings);
  const lines = new Int32Array(decoded.length + 1);
  const segments: number[] = [];
  for (const [index, line] of decoded.entries()) {
    for (const [column, source, row, at] of line) {
      if (source !== undefined && row !== undefined && at !== undefined)
        segments.push(column, source, row, at);
    }
    lines[index + 1] = segments.length / SEGMENT_LENGTH;
  }
  return { lines, segments: Int32Array.from(segments) };
}

/**
 * Loads a program in a new instance. The text is `+true` if the tool was found.
 *
 * @throws any error of a broken engine (out of memory, a trap, an assertion). The instance must not be used again.
 *   This also applies to {@link startGuest} and {@link resumeGuest}.
 */
export function loadGuest(instance: EngineInstance, program: GuestProgram, stackBytes: number): GuestEnd {
  instance.limitStack(stackBytes);
  const { entry, sources, exportName } = program;
  // Web APIs are evaluated first, so that the tool's changes of the intrinsics do not affect them.
  const { groups, globals } = webApisIn(Object.values(sources));
  if (groups.length + globals.length > 0) {
    const used = instance.call("use", JSON.stringify(groups), JSON.stringify(globals));
    if (used === undefined) throw new Error("the engine could not evaluate the web APIs");
  }
  const end = settle(instance, instance.evaluate(entry, sources[entry] ?? "", exportName));
  // Pending jobs of the top-level code run here, once: in the template they would run again in every call.
  instance.runJobs();
  return instance.host.isOver() ? { status: "timeout" } : end;
}

/** Calls the tool of a loaded guest. */
export function startGuest(instance: EngineInstance, input: string): GuestEnd {
  return settle(instance, instance.call("start", input));
}

/** Passes replies to a waiting guest. */
export function resumeGuest(instance: EngineInstance, replies: string): GuestEnd {
  return settle(instance, instance.call("settle", replies));
}

/** Runs the first timer of a waiting guest, if it is due. */
export function wakeGuest(instance: EngineInstance): GuestEnd {
  return settle(instance, instance.call("wake"));
}

/** Runs the guest until it has an outcome or no more jobs. */
function settle(instance: EngineInstance, first: string | undefined): GuestEnd {
  let text = first;
  if (text === "") {
    instance.runJobs();
    text = instance.call("poll");
  }
  // Not every built-in can be interrupted: a result after the deadline counts as a timeout.
  if (instance.host.isOver()) return { status: "timeout" };
  if (text === undefined) throw new Error("the engine could not run the driver");
  if (text === "") return { status: "pending" };
  // The guest can make the driver return anything, and a number that is not one waits until the deadline.
  if (text.startsWith("~")) return { status: "pending", wakeMs: Math.max(Number(text.slice(1)) || 0, 0) };
  return { status: "text", text };
}
