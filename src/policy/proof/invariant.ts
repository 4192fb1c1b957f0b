import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import type { SideEffects } from "../../tool/side-effects.ts";

/** What must hold for every decision of a policy of rules, whatever the arguments, the principal and the time. */
export type Invariant = NeverInvariant | AlwaysInvariant;

/** No call of this selection can run, with or without a person's confirmation. */
export interface NeverInvariant {
  /** Appears in messages. Default: `invariant 2` for the second one. */
  readonly name?: string;
  readonly never: CallSelection;
}

/** A person confirms every call of this selection that runs. */
export interface AlwaysInvariant {
  /** Like {@link NeverInvariant.name}. */
  readonly name?: string;
  readonly always: CallSelection & { readonly effect: "ask" };
}

/** Calls that meet every member that is set. At least one must be set. */
export interface CallSelection {
  /** Names of tools, in which `*` matches any number of characters and `\*` is a star. One of them must match. */
  readonly tools?: readonly string[];
  /** The tool must have one of these tags. */
  readonly tags?: readonly string[];
  /** The tool's side effects must be one of these. */
  readonly sideEffects?: readonly SideEffects[];
  /** The decision must accept one of these sandboxes, whether or not it prefers another one. */
  readonly sandboxes?: readonly SandboxMode[];
  /** The grant must have all of these. */
  readonly capabilities?: CapabilitySelection;
}

/** Capabilities of a grant, by name. `"any"` is met if the grant has the capability at all. */
export interface CapabilitySelection {
  /** A list is met by one of these names. The same holds for `secrets` and `keyValue`. */
  readonly env?: "any" | readonly string[];
  readonly clock?: "any";
  readonly random?: "any";
  /** A list is met if the grant lets the tool call one of these tools. The names have no wildcards. */
  readonly tools?: "any" | readonly string[];
  /** `"write"` is met by a directory or file that the tool may change. */
  readonly fs?: "any" | "write";
  /** `outside` is met by an origin that none of these, which are written as in `NetGrant`, covers. */
  readonly net?: "any" | { readonly outside: readonly string[] };
  readonly secrets?: "any" | readonly string[];
  readonly keyValue?: "any" | readonly string[];
  readonly reuse?: "any";
  readonly engine?: "any";
}

/** Returns the calls that an invariant is about. */
export function selectionOf(invariant: Invariant): CallSelection {
  return "never" in invariant ? invariant.never : invariant.always;
}

/** Returns the name of an invariant, which defaults to its number. */
export function invariantName({ name }: Invariant, index: number): string {
  return name ?? `invariant ${index + 1}`;
}

/** Returns the member of an invariant that has its selection. */
export function kindOf(invariant: Invariant): "never" | "always" {
  return "never" in invariant ? "never" : "always";
}
