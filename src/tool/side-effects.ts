/**
 * The worst that a tool can do, as its author declares it: change and read nothing outside itself, read, write what can
 * be restored, or destroy. Policies can match it; nothing enforces it.
 */
export type SideEffects = "none" | "read" | "write" | "destructive";

/** Every {@link SideEffects} class, from the mildest to the worst. */
export const SIDE_EFFECTS: readonly SideEffects[] = Object.freeze(["none", "read", "write", "destructive"]);
