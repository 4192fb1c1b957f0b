import { describeThrown } from "../../base/thrown.ts";

/** Tells the operator that a program that has ended stays in its store. It goes on nowhere, and is cleaned up later. */
export function warnNotRemoved(thrown: unknown): void {
  const { message } = describeThrown(thrown);
  process.emitWarning(`A program could not be removed: ${message}`, { code: "SANDGATE_NOT_SUSPENDED" });
}
