import type { JsonValue } from "../../json/value.ts";
import type { SandboxMode } from "../../tool/sandbox-mode.ts";
import type { SideEffects } from "../../tool/side-effects.ts";
import type { Capabilities } from "../grant/capabilities.ts";
import type { ResourceLimits } from "../grant/limits.ts";

/** What is to be done with the calls that match, one of three ways. */
export type PolicyRule = AllowRule | DenyRule | AskRule;

/** Which calls a rule is about. What is left out does not matter. */
export interface RuleMatch {
  /** For operators: reasons name it. Default: `rule 3` for the third. No two rules have the same. */
  readonly name?: string;
  /** Names of tools, in which `*` stands for any run of characters. One of them must match. */
  readonly tools: readonly string[];
  /** The tool must be of one of these classes. */
  readonly sideEffects?: readonly SideEffects[];
  /** What must hold of the arguments, by JSON pointer (RFC 6901). All of it must hold. */
  readonly when?: { readonly [pointer: string]: RuleCondition };
}

/** Lets calls run. Where several of these match, all of them bind. */
export interface AllowRule extends RuleMatch, AllowedUse {
  readonly effect: "allow";
}

/** Refuses calls, whatever other rules say. */
export interface DenyRule extends RuleMatch {
  readonly effect: "deny";
}

/** Has a person confirm calls, unless a rule denies them. */
export interface AskRule extends RuleMatch {
  readonly effect: "ask";
}

/** Where calls may run, and with what. */
export interface AllowedUse {
  /** The sandboxes that are accepted, best first; the first in which the tool can run is taken. */
  readonly sandboxes: readonly SandboxMode[];
  /** Default: the sandbox's own. */
  readonly limits?: ResourceLimits;
  /** Default: none. */
  readonly capabilities?: Capabilities;
}

/**
 * What must hold of one argument: exactly one of these. A condition that cannot tell, because the argument is
 * of another type or could be read in two ways, counts against the call: see `compileCondition`.
 */
export type RuleCondition =
  | { /** The same JSON value. */ readonly equals: JsonValue }
  | { /** The same as one of these. */ readonly oneOf: readonly JsonValue[] }
  | {
      /** A path that one of these globs takes: see `compileGlob`. */ readonly glob:
        | string
        | readonly string[];
    }
  | { /** A string that begins so. */ readonly prefix: string }
  | {
      /** A number within these bounds, both inclusive; at least one of them. */ readonly range: NumberRange;
    };

/** Bounds of a number, both inclusive. */
export interface NumberRange {
  readonly min?: number;
  readonly max?: number;
}

/** What a `RulePolicy` is made of. */
export interface RulePolicyOptions {
  readonly rules: readonly PolicyRule[];
  /** What happens to a call that no rule matches. Default: `"deny"`. */
  readonly default?: "deny" | AllowedUse;
}
