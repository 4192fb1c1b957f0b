/**
 * What a tool does at worst, as its embedder declares it: nothing outside itself, reading, writing what can
 * be written again, or destroying. Policies decide by it; it enforces nothing by itself.
 */
export type SideEffects = "none" | "read" | "write" | "destructive";

/** Every {@link SideEffects} class, mildest first. */
export const SIDE_EFFECTS: readonly SideEffects[] = Object.freeze(["none", "read", "write", "destructive"]);
