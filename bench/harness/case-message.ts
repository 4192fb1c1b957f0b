import type { Round } from "./time-round.ts";

/** A message to the process of a case. */
export type ToCase = { readonly kind: "round"; readonly roundMs: number } | { readonly kind: "close" };

/** A message from the process of a case. */
export type FromCase =
  | { readonly kind: "opened" }
  | { readonly kind: "round"; readonly round: Round }
  | { readonly kind: "not here"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string };
