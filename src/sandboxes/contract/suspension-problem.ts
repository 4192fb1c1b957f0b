import { SandgateError } from "../../base/sandgate-error.ts";

/** Thrown if a suspended call cannot go on in its sandbox. The message is for the model. */
export class SuspensionError extends Error {
  override readonly name = "SuspensionError";
}

/** Returns why a suspended call cannot go on, for the model: what a store says may name hosts and files. */
export function suspensionProblem(thrown: unknown): string {
  const isForModel =
    thrown instanceof SuspensionError ||
    (thrown instanceof SandgateError && thrown.code === "suspension_refused");
  return isForModel ? thrown.message : "the store of programs failed";
}

/** Whether a call cannot go on since another process has it. */
export function isTaken(thrown: unknown): boolean {
  return thrown instanceof SandgateError && "reason" in thrown && thrown.reason === "taken";
}
