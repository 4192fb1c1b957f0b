import type { EngineInstance } from "../engine/engine-instance.ts";
import type { GuestProgram } from "../guest-program.ts";
import type { ExternalAccess } from "./external-access.ts";

/** How a step of a guest ended. */
export type GuestEnd =
  /** With the driver's text: `+` and the output as JSON, or `-` and the failure as JSON. */
  | { readonly status: "text"; readonly text: string }
  | { readonly status: "timeout" }
  /** It waits, without an outcome yet. */
  | { readonly status: "pending" };

/**
 * Loads a program in a new instance. The text is `+true` if the tool was found.
 *
 * @throws any error of a broken engine (out of memory, a trap, an assertion). The instance must not be used again.
 *   This also applies to {@link startGuest} and {@link resumeGuest}.
 */
export function loadGuest(instance: EngineInstance, program: GuestProgram, stackBytes: number): GuestEnd {
  instance.limitStack(stackBytes);
  const { entry, sources, exportName } = program;
  const end = settle(instance, instance.evaluate(entry, sources[entry] ?? "", exportName));
  // Pending jobs of the top-level code run here, once: in the template they would run again in every call.
  instance.runJobs();
  return instance.host.isOver() ? { status: "timeout" } : end;
}

/** Calls the tool of a loaded guest. `access` decides whether it has `fetch` and `fs`. */
export function startGuest(instance: EngineInstance, input: string, access?: ExternalAccess): GuestEnd {
  const texts = access === undefined ? [] : [access.net ? "net" : "", access.fs ? "fs" : ""];
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
