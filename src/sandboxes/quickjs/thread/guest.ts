import type { EngineInstance } from "../engine/engine-instance.ts";
import type { ExternalAccess } from "./external-access.ts";

/** How a guest ended. */
export type GuestEnd =
  /** With what the driver says: `+` and the output's JSON, or `-` and the failure's. */
  | { readonly status: "text"; readonly text: string }
  | { readonly status: "timeout" }
  /** It is at rest, and has nothing to say yet. */
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
 * Loads a program, in an instance that nothing else ran in: `+true` once the tool is found.
 *
 * @throws whatever the engine throws when it breaks (out of memory, a trap, an assertion): the instance is then
 *   unfit for any other guest. The same holds of the others.
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

/** Gives a guest that waits the replies to its requests. */
export function resumeGuest(instance: EngineInstance, replies: string): GuestEnd {
  return settle(instance, instance.call("settle", replies));
}

/** Lets the guest run on until it has an outcome, or nothing more to do. */
function settle(instance: EngineInstance, first: string | undefined): GuestEnd {
  let text = first;
  if (text === "") {
    instance.runJobs();
    text = instance.call("poll");
  }
  // Not every built-in looks at the clock: a result that comes late is none.
  if (instance.host.isOver()) return { status: "timeout" };
  if (text === undefined) throw new Error("the engine could not run the driver");
  return text === "" ? { status: "pending" } : { status: "text", text };
}
