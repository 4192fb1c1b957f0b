import type { JsonValue } from "../../json/value.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import type { Capabilities } from "../grant/capabilities.ts";
import type { ResourceLimits } from "../grant/limits.ts";

/** Allows or denies the calls that it matches, or has a person confirm them. */
export type PolicyRule = AllowRule | DenyRule | AskRule;

/** The calls that a rule matches: those that meet every member that is set. */
export interface RuleMatch {
  /** A unique name, which appears in reasons for operators. Default: `rule 3` for the third rule. */
  readonly name?: string;
  /**
   * Names of tools, in which `*` matches any number of characters and `\*` is a star. One of them must match.
   */
  readonly tools: readonly string[];
  /** The tool's side effects must be one of these. */
  readonly sideEffects?: readonly SideEffects[];
  /** Conditions on arguments, by JSON pointer (RFC 6901). All must be met. */
  readonly when?: { readonly [pointer: string]: RuleCondition };
}

/** Allows calls. If several such rules match, the grant stays within all of them. */
export interface AllowRule extends RuleMatch, AllowedUse {
  readonly effect: "allow";
}

/** Denies calls, even if other rules allow them. */
export interface DenyRule extends RuleMatch {
  readonly effect: "deny";
}

/** Requires that a person confirms calls, unless another rule denies them. */
export interface AskRule extends RuleMatch {
  readonly effect: "ask";
}

/** The sandboxes, limits and capabilities for calls that are allowed. */
export interface AllowedUse {
  /** Accepted sandboxes, in order of preference. The first in which the tool can run is used. */
  readonly sandboxes: readonly SandboxMode[];
  /** Default: those of the sandbox. */
  readonly limits?: ResourceLimits;
  /** Default: none. */
  readonly capabilities?: Capabilities;
}

/**
 * A condition on one argument, with exactly one of these members. If a condition cannot be decided, because
 * the argument has another type or is ambiguous, the stricter decision applies: see `RulePolicy`.
 */
export type RuleCondition =
  | { /** The argument equals this JSON value. */ readonly equals: JsonValue }
  | { /** The argument equals one of these JSON values. */ readonly oneOf: readonly JsonValue[] }
  | {
      /** The argument is a path that one of these globs matches: see `compileGlob`. */ readonly glob:
        | string
        | readonly string[];
    }
  | { /** The argument is a string that starts with this one. */ readonly prefix: string }
  | {
      /** The argument is a number in this range. */ readonly range: NumberRange;
    };

/** Inclusive bounds of a number. At least one must be set. */
export interface NumberRange {
  readonly min?: number;
  readonly max?: number;
}

/** The options of a `RulePolicy`. */
export interface RulePolicyOptions {
  readonly rules: readonly PolicyRule[];
  /** Applies to calls that no rule allows, denies or asks about. Default: `"deny"`. */
  readonly default?: "deny" | AllowedUse;
}
