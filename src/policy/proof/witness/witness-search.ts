import { CanonicalJson } from "../../../json/canonical.ts";
import { copyJson } from "../../../json/copy.ts";
import { type CompiledSchema, compileSchema } from "../../../schema/compiled-schema.ts";
import { SchemaError } from "../../../schema/schema-error.ts";
import type { PolicyDecision, PolicySubject } from "../../policy.ts";
import type { PolicyRule, RulePolicyOptions } from "../../rule/rule.ts";
import { concernedTools } from "../../rule/rule-matcher.ts";
import { RulePolicy } from "../../rule/rule-policy.ts";
import type { Witness } from "../invariant.ts";
import { type Invariant, selectionOf } from "../invariant.ts";
import { hasSelected, type MinimalGrant } from "../minimal-grants.ts";
import { type CallSketch, sketchCalls } from "./sketch-calls.ts";

/** The most calls that are tried for one tool and one grant. */
const MAX_TRIED = 1_000;
/** How many calls are tried in all before fewer are for each further tool and grant: the simplest ones only. */
const MANY_TRIED = 100_000;
const FEW_TRIED = 20;
/** What may be spent on calls in all, in evaluated rules. */
const MAX_WORK = 3_000_000;
/** What making up a call costs besides. */
const WORK_OF_CALL = 50;
/** The most times at which each call is tried. */
const MAX_TIMES = 8;
const WORKSPACE = "/workspace";

/** In what the calls of a tool are tried. */
interface Setting {
  /** Now, and the times around the ends of rules for the tool. */
  readonly times: readonly number[];
  /** What each call costs. */
  readonly work: number;
}

/** Looks for calls that violate invariants: it makes up calls that a rule should match, and asks the policy about each. */
export class WitnessSearch {
  readonly #options: RulePolicyOptions;
  readonly #schemas = new Map<PolicySubject, CompiledSchema | undefined>();
  readonly #settings = new Map<PolicySubject, Setting>();
  #policy: RulePolicy | undefined;
  #tried = 0;
  #work = 0;
  /** The time of the policy's clock. */
  #now = Date.now();

  constructor(options: RulePolicyOptions) {
    this.#options = options;
  }

  /** Returns a call that violates an invariant by what the rules grant, or `undefined` if none was found. */
  find(grant: MinimalGrant, tool: PolicySubject, invariant: Invariant): Witness | undefined {
    const schema = this.#schemaOf(tool);
    if (schema === undefined) return undefined;
    const rules = grant.rules.map(({ place }) => this.#options.rules[place] as PolicyRule);
    const { times, work } = this.#settingOf(tool);
    const end = this.#tried + (this.#tried < MANY_TRIED ? MAX_TRIED : FEW_TRIED);
    for (const sketch of sketchCalls(rules, grant.uses, tool.inputSchema)) {
      this.#work += work;
      if (++this.#tried > end || this.#work > MAX_WORK) return undefined;
      if (schema.validate(sketch.input) !== undefined) continue;
      for (const at of times) {
        const witness = this.#try(sketch, tool, invariant, at);
        if (witness !== undefined) return witness;
      }
    }
    return undefined;
  }

  #try(sketch: CallSketch, tool: PolicySubject, invariant: Invariant, at: number): Witness | undefined {
    const { principal, sessionId } = sketch;
    this.#now = at;
    this.#policy ??= new RulePolicy(this.#options, () => this.#now, false);
    try {
      const input = copyJson(sketch.input);
      const call = { callId: "witness", sessionId, principal, input, tool, workspace: WORKSPACE };
      const decision = this.#policy.check(Object.freeze({ ...call, canonical: new CanonicalJson(input) }));
      if (decision.decision === "deny" || !violates(decision, invariant)) return undefined;
      return { tool: tool.name, input, ...(principal && { principal }), sessionId, at, decision };
    } catch {
      // The input is not valid JSON, or the grants contradict each other for this call: it would be denied.
      return undefined;
    }
  }

  #settingOf(tool: PolicySubject): Setting {
    const known = this.#settings.get(tool);
    if (known !== undefined) return known;
    const rules = this.#options.rules.filter((rule) => concernedTools(rule, [tool]).length > 0);
    const ends = rules.flatMap(({ until }) => (until === undefined ? [] : [Date.parse(until)]));
    const times = [...new Set([Date.now(), ...ends.flatMap((end) => [end, end - 1])])].slice(0, MAX_TIMES);
    const setting = { times, work: WORK_OF_CALL + times.length * rules.length };
    this.#settings.set(tool, setting);
    return setting;
  }

  /** Returns `undefined` if the schema does not compile by itself, such as one that refers to shared schemas. */
  #schemaOf(tool: PolicySubject): CompiledSchema | undefined {
    if (this.#schemas.has(tool)) return this.#schemas.get(tool);
    const schema = compileOrNothing(tool);
    this.#schemas.set(tool, schema);
    return schema;
  }
}

function compileOrNothing({ inputSchema }: PolicySubject): CompiledSchema | undefined {
  try {
    return compileSchema(inputSchema);
  } catch (error) {
    if (error instanceof SchemaError) return undefined;
    throw error;
  }
}

/** Whether a decision on a call of a tool that the invariant is about violates the invariant. */
function violates(decision: PolicyDecision, invariant: Invariant): boolean {
  if (decision.decision === "deny" || decision.grant === undefined) return false;
  if ("always" in invariant && decision.decision === "ask") return false;
  const { sandboxes, capabilities } = selectionOf(invariant);
  const accepted = decision.sandboxes ?? [decision.grant.sandbox];
  if (sandboxes?.some((mode) => accepted.includes(mode)) === false) return false;
  return hasSelected(decision.grant.capabilities, capabilities);
}
