import type { CallState } from "./state.ts";

/**
 * The name of a call's tool for texts that its maker reads: the alias under which the model was offered it, or the
 * tool's own name if another tool makes the call.
 */
export function shownName({ caller, ctx, received }: CallState): string {
  const { toolAlias } = ctx;
  return toolAlias === undefined || caller !== undefined ? received.name : aliasOf(received.name, toolAlias);
}

/** Applies an embedder's mapping. A name for which it fails stays as it is. */
export function aliasOf(name: string, toolAlias: (name: string) => string): string {
  try {
    return String(toolAlias(name));
  } catch {
    return name;
  }
}
