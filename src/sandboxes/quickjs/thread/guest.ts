import { webApisIn } from "../driver/globals.ts";
import type { EngineInstance } from "../engine/engine-instance.ts";
import type { GuestProgram } from "../guest-program.ts";

/** How a step of a guest ended. */
export type GuestEnd =
  /** With the driver's text: `+` and the output as JSON, or `-` and the failure as JSON. */
  | { readonly status: "text"; readonly text: string }
  | { readonly status: "timeout" }
  /** It waits, without an outcome yet. `wakeMs`: how long until its first timer is due, if it has one. */
  | { readonly status: "pending"; readonly wakeMs?: number };

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
