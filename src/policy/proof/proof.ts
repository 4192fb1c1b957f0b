import type { JsonValue } from "../../json/value.ts";
import type { AllowDecision, AskDecision } from "../policy.ts";
import type { Principal } from "../principal.ts";
import type { Invariant } from "./invariant.ts";

/** The outcome of an invariant. */
export interface Proof {
  readonly invariant: Invariant;
  /** The name of the invariant, or `invariant 2` for the second one. */
  readonly name: string;
  /**
   * `proved`: no call of the tools can violate it. `broken`: a call that does was found. `undecided`: rules may violate
   * it, and no call was found that does. Only `proved` lets a policy file load.
   */
  readonly verdict: "proved" | "broken" | "undecided";
  /** The names of the tools that it is about. It says nothing if there are none. */
  readonly tools: readonly string[];
  /** The rules that may violate it; at most 20 of them. */
  readonly failures: readonly ProofFailure[];
  /** How many more there are. */
  readonly furtherFailures: number;
}

/** Rules that may violate an invariant. */
export interface ProofFailure {
  /** The names of the rules that together grant what must not be granted; empty for the policy's `default`. */
  readonly rules: readonly string[];
  /** The index of the first of them in the policy; absent for `default`. */
  readonly place?: number;
  /** The names of the tools whose calls it concerns. */
  readonly tools: readonly string[];
  /** A call that violates the invariant; absent if none was found. */
  readonly witness?: Witness;
}

/** A call that violates an invariant. The policy was asked about it. */
export interface Witness {
  readonly tool: string;
  /** Arguments that the tool's input schema accepts. */
  readonly input: JsonValue;
  readonly principal?: Principal;
  readonly sessionId: string;
  /** The time of the call, in milliseconds since the epoch. */
  readonly at: number;
  readonly decision: AllowDecision | AskDecision;
}
