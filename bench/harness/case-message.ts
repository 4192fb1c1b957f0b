import type { Round } from "./time-round.ts";

/** What the process of a case is told. */
export type ToCase = { readonly kind: "round"; readonly roundMs: number } | { readonly kind: "close" };

/** What the process of a case says. */
export type FromCase =
  | { readonly kind: "opened" }
  | { readonly kind: "round"; readonly round: Round }
  | { readonly kind: "not here"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string };
