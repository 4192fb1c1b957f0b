/**
 * The worst that a tool can do, as its author declares it. What counts is what the tool is able to do, not what it is
 * typically used for: a shell is `execute` even if it only lists files, and a tool that reads and then writes is `write`.
 * Policies can match it. It decides on default time-outs, on which calls run at once, and on whether a call waits for its
 * record; nothing enforces it.
 *
 * - `none`: computes its output from its input
 * - `read`: reads files, or queries something without changing it (such as an HTTP GET)
 * - `write`: changes files of the workspace
 * - `execute`: runs arbitrary code or commands
 * - `network`: changes state elsewhere (an HTTP POST, a mail, a chat message)
 * - `destructive`: does what cannot be undone
 */
export type SideEffects = "none" | "read" | "write" | "execute" | "network" | "destructive";

/** Every {@link SideEffects} class, from the mildest to the worst. */
export const SIDE_EFFECTS: readonly SideEffects[] = Object.freeze([
  "none",
  "read",
  "write",
  "execute",
  "network",
  "destructive",
]);

/** The class of a tool that declares none, so that no policy underestimates it. */
export const UNDECLARED_SIDE_EFFECTS: SideEffects = "destructive";

/** Whether the tools of a class change nothing. */
export function changesNothing(sideEffects: SideEffects): boolean {
  return sideEffects === "none" || sideEffects === "read";
}
