import type { OpenConfirmation } from "../subject.ts";
import type { Run } from "../world.ts";

/** What outlives a killed process besides the store: what actors did, what tools ran, and the end. */
export type Line =
  | { readonly actor: number; readonly seen?: OpenConfirmation }
  | { readonly run: Run }
  | { readonly hasEnded: boolean; readonly log: readonly string[] };
