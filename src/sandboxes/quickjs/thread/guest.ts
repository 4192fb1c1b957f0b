import type { EngineInstance } from "../engine/engine-instance.ts";
import type { ExternalAccess } from "./external-access.ts";

/** How a step of a guest ended. */
export type GuestEnd =
  /** With the driver's text: `+` and the output as JSON, or `-` and the failure as JSON. */
  | { readonly status: "text"; readonly text: string }
  | { readonly status: "timeout" }
  /** It waits, without an outcome yet. */
  | { readonly status: "pending" };

/** The modules of a tool, as the engine evaluates them. */
export interface GuestProgram {
  /** The name of the module that exports the tool. */
  readonly entry: string;
  /** The sources by name; names are paths in the tool's folder, with `/` between their parts. */
  readonly sources: Readonly<Record<string, string>>;
  /** The name of its exported function. */
  readonly exportName: string;
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
  return settle(instance, instance.evaluate(entry, sources[entry] ?? "", exportName));
}

/** Calls the tool of a guest that was loaded. What it finds beside the language depends on what was granted. */
export function startGuest(instance: EngineInstance, input: string, outside?: ExternalAccess): GuestEnd {
  const texts = outside === undefined ? [] : [outside.net ? "net" : "", outside.fs ? "fs" : ""];
  return settle(instance, instance.call("start", input, ...texts));
}

/** Passes replies to a waiting guest. */
export function resumeGuest(instance: EngineInstance, replies: string): GuestEnd {
  return settle(instance, instance.call("settle", replies));
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
  return text === "" ? { status: "pending" } : { status: "text", text };
}
