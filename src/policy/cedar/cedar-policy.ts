import type {
  AuthorizationAnswer,
  AuthorizationCall,
  ResidualResponse,
  Response,
  SchemaJson,
} from "@cedar-policy/cedar-wasm/nodejs";
import { type OptionNames, refuseUnknown } from "../../base/unknown-names.ts";
import type { ConfigProblem } from "../../config/problem.ts";
import { CanonicalJson, canonicalText } from "../../json/canonical.ts";
import type { JsonValue } from "../../json/value.ts";
import type { PolicyTool } from "../file/checked-rule.ts";
import { spellerFor } from "../match/spellings.ts";
import {
  deny,
  type PolicyDecision,
  type PolicyExplanation,
  type PolicyRequest,
  type PolicySubject,
  type RuntimePolicy,
} from "../policy.ts";
import type { AppliedRule } from "../rule/combine-rules.ts";
import { combineRules, originsOf } from "../rule/combine-rules.ts";
import type { AllowedUse } from "../rule/rule.ts";
import { checkOptions } from "../rule/rule-shape.ts";
import { type CedarData, type CedarLibrary, loadCedar } from "./cedar-library.ts";
import {
  type CedarType,
  CedarValueError,
  cedarSchema,
  entitiesOf,
  entityId,
  inputTypeOf,
  toCedarValue,
} from "./cedar-schema.ts";
import { type CedarStatement, canBeMet, readCedar, readsContext } from "./cedar-source.ts";

/** A tool of the schema. */
interface KnownTool {
  /** The input schema as canonical JSON. */
  readonly schema: string;
  readonly type: CedarType | undefined;
}

/** A call in Cedar's terms, without the policies. */
type CedarCall = Pick<
  AuthorizationCall,
  "principal" | "action" | "resource" | "context" | "entities" | "validateRequest"
>;

const NAMES: OptionNames<CedarPolicyOptions> = { policies: true, tools: true, grants: true, file: true };

/** The options of {@link openCedarPolicy}. */
export interface CedarPolicyOptions {
  /** The policies, in Cedar's syntax. They are validated against the schema of the tools: see {@link cedarSchema}. */
  readonly policies: string;
  /** The tools on whose calls the policy decides. Calls of other tools are denied. */
  readonly tools: readonly PolicyTool[];
  /**
   * What an allowed call gets, as in the `allow` rules of a `RulePolicy`. A `permit` takes the grant that its annotation
   * `@grant("name")` names, or `default`. If several permits apply, the call gets what all of them grant.
   */
  readonly grants: Readonly<Record<string, AllowedUse>>;
  /** The name of the file in problems. Default: `policies.cedar`. */
  readonly file?: string;
}

/**
 * Opens a policy that is written in Cedar. It needs the optional peer `@cedar-policy/cedar-wasm`, version
 * 4.13.
 *
 * `forbid` denies a call, and `permit` allows it, under a grant. A permit with `@ask("question")` asks a
 * person, even if another permit allows the call. Other annotations: `@id`, which names the policy in
 * decisions, `@remember("session")`, `@grant`, `@reason` of a `forbid`, and `@owner`.
 *
 * Cedar skips a policy that fails, such as one whose integers overflow. Here a call is denied if a `forbid`
 * or a permit with `@ask` fails, and also if its arguments have no exact representation in Cedar.
 *
 * @throws {ConfigError} with every problem of the policies, with its position.
 * @throws {TypeError} if a grant is invalid.
 * @throws {Error} if `@cedar-policy/cedar-wasm` is not installed.
 */
export async function openCedarPolicy(options: CedarPolicyOptions): Promise<CedarPolicy> {
  refuseUnknown(options, NAMES, "openCedarPolicy");
  return new CedarPolicy(await loadCedar(), options);
}

/** Decides by Cedar policies. {@link openCedarPolicy} opens it. */
export class CedarPolicy implements RuntimePolicy {
  /**
   * Whether a decision can depend on the session's id.
   *
   * @internal
   */
  readonly readsSession: boolean;
  /** Problems that do not prevent the use of the policies, such as one that can never apply. */
  readonly warnings: readonly ConfigProblem[];
  readonly #cedar: CedarLibrary;
  readonly #name: string;
  readonly #statements: ReadonlyMap<string, CedarStatement>;
  readonly #applied: ReadonlyMap<string, AppliedRule>;
  readonly #schema: SchemaJson<string>;
  readonly #readsWorkspace: boolean;
  readonly #readsInput: boolean;
  /** The ids of the policies that can deny, or ask about, a call because of its principal. */
  readonly #onPrincipals: readonly string[];
  readonly #tools: ReadonlyMap<string, KnownTool>;
  readonly #form: CanonicalJson;
  /** The registered tools that are those of the schema. */
  readonly #checked = new WeakMap<PolicySubject, KnownTool>();

  /** @internal */
  constructor(cedar: CedarLibrary, { policies, tools, grants, file = "policies.cedar" }: CedarPolicyOptions) {
    const uses = checkGrants(grants);
    const schema = cedarSchema(tools);
    const { statements, warnings } = readCedar(cedar, policies, {
      file,
      schema,
      grants: [...uses.keys()],
      tags: tools.flatMap(({ tags }) => tags ?? []),
    });
    this.warnings = warnings;
    this.#cedar = cedar;
    this.#schema = schema;
    this.#statements = new Map(statements.map((statement) => [statement.id, statement]));
    this.#applied = new Map(
      statements.map(({ id, annotations: { ask, remember, grant = "default" } }, place) => [
        id,
        { name: id, place, use: uses.get(grant), question: ask, isRemembered: remember === "session" },
      ]),
    );
    this.#tools = new Map(tools.map(({ name, inputSchema }) => [name, knownTool(inputSchema)]));
    const reads = (member: string): boolean => statements.some((each) => readsContext(each.reads, member));
    this.readsSession = reads("sessionId");
    this.#readsWorkspace = reads("workspace");
    this.#readsInput = reads("input");
    this.#onPrincipals = statements
      .filter((statement) => canRestrict(statement) && statement.reads.principal)
      .map(({ id }) => id);
    this.#form = new CanonicalJson(dataOf(policies, grants, tools) as unknown as JsonValue);
    this.#name = preparse(cedar, this, schema, statements);
  }

  /** The SHA-256 digest of the policies, the grants, and the names and input schemas of the tools, in hexadecimal. */
  get revision(): string {
    return this.#form.digest;
  }

  /** The policies, the grants and the tools as canonical JSON. */
  get sources(): readonly string[] {
    return [this.#form.text];
  }

  /** Denies a call if Cedar does not allow it or a policy that could deny it fails. */
  check(request: PolicyRequest): PolicyDecision {
    const tool = this.#find(request.tool);
    if (tool === undefined) return deny("the tool is not in the schema of the Cedar policies");
    let answer: AuthorizationAnswer;
    try {
      answer = this.#ask(request, tool);
    } catch (error) {
      if (!(error instanceof CedarValueError)) throw error;
      return deny(`Cedar cannot decide on these arguments: ${error.message}`);
    }
    if (answer.type === "failure")
      return deny("Cedar refused the request: it does not fit the tool's schema");
    const decision = this.#decide(answer.response, request);
    if (decision.decision === "deny") return decision;
    return this.#denyWithoutPrincipal(request) ?? this.#checkSpellings(request, tool, decision);
  }

  /**
   * The policies must not decide otherwise on other spellings of declared paths and URLs: one that denies or asks applies if
   * it applies to any spelling, and each place where a path leads must be permitted by its relative or its absolute path.
   */
  #checkSpellings(request: PolicyRequest, tool: KnownTool, decision: PolicyDecision): PolicyDecision {
    if (!this.#readsInput || request.tool.access === undefined) return decision;
    const { inputs = [] } = spellerFor(request.tool.access, [[]])?.(request) ?? {};
    let strictest = decision;
    for (const { relative, absolute } of inputs) {
      const decided = [relative, absolute].map((input) => {
        const answer = this.#ask(request, tool, input);
        return answer.type === "failure" ? UNCLEAR_PATH : this.#decide(answer.response, request);
      });
      const forbidden = decided.find((each) => each.decision === "deny" && each.rules !== undefined);
      if (forbidden !== undefined) return forbidden;
      if (decided.every((each) => each.decision === "deny")) return UNCLEAR_PATH;
      const asking = decided.find((each) => each.decision === "ask");
      if (asking !== undefined && strictest.decision === "allow") strictest = asking;
    }
    return strictest;
  }

  #denyWithoutPrincipal(request: PolicyRequest): PolicyDecision | undefined {
    const [id] = this.#unclearWithoutPrincipal(request);
    return id === undefined ? undefined : deny(`'${id}': ${NO_PRINCIPAL}`, { rules: [id] });
  }

  /** A policy that can deny, or ask about, calls of some principals may apply to a call whose principal is not known. */
  #unclearWithoutPrincipal(request: PolicyRequest): readonly string[] {
    if (request.principal !== undefined || this.#onPrincipals.length === 0) return [];
    const { residuals, errored } = this.#evaluate(request, true);
    return this.#onPrincipals.filter((id) => {
      const residual = residuals[id];
      return errored.includes(id) || (residual !== undefined && canBeMet(residual));
    });
  }

  /** Lists every policy. Those whose evaluation fails are `unclear`, and those that depend on an unknown principal. */
  explain(request: PolicyRequest): PolicyExplanation {
    const decision = this.check(request);
    const { satisfied, errored } = this.#evaluate(request);
    const onPrincipal = this.#unclearWithoutPrincipal(request);
    const rules = Array.from(this.#statements.values(), ({ id, effect, annotations: { ask } }) => {
      const isUnclear = errored.includes(id) || onPrincipal.includes(id);
      const matched = satisfied.includes(id) ? "yes" : isUnclear ? "unclear" : "no";
      const kind = effect === "forbid" ? "deny" : ask === undefined ? "allow" : "ask";
      const why = matched === "unclear" && onPrincipal.includes(id) ? NO_PRINCIPAL : WHY[matched];
      return Object.freeze({ name: id, effect: kind, matched, why } as const);
    });
    const granting = satisfied.flatMap((id) => this.#applied.get(id) ?? []);
    return Object.freeze({
      decision,
      rules: Object.freeze(rules),
      ...originsOf(decision, inOrder(granting)),
    });
  }

  /**
   * Finds the policies that match a call, also those that did not decide on it.
   *
   * @param isAnyPrincipal Whether to find those, too, that match calls of some principals: as residuals.
   */
  #evaluate(request: PolicyRequest, isAnyPrincipal = false): Evaluated {
    const tool = this.#find(request.tool);
    if (tool === undefined) return NOTHING;
    try {
      const staticPolicies = Object.fromEntries(
        Array.from(this.#statements.values(), ({ id, text }) => [id, text]),
      );
      const answer = this.#cedar.isAuthorizedPartial({
        ...callOf(request, tool, this.#readsWorkspace),
        ...(isAnyPrincipal && { principal: null }),
        schema: this.#schema,
        policies: { staticPolicies },
      });
      return answer.type === "failure"
        ? { ...NOTHING, errored: [...this.#statements.keys()] }
        : answer.response;
    } catch (error) {
      if (error instanceof CedarValueError) return NOTHING;
      throw error;
    }
  }

  /** @throws {CedarValueError} if the arguments have no representation in Cedar. */
  #ask(request: PolicyRequest, tool: KnownTool, input?: JsonValue): AuthorizationAnswer {
    return this.#cedar.statefulIsAuthorized({
      ...callOf(request, tool, this.#readsWorkspace, input),
      preparsedSchemaName: this.#name,
      preparsedPolicySetId: this.#name,
    });
  }

  #decide({ decision, diagnostics: { reason, errors } }: Response, request: PolicyRequest): PolicyDecision {
    const inOrder = [...this.#statements.values()];
    const failed = inOrder.find(
      (statement) => canRestrict(statement) && errors.some(({ policyId }) => policyId === statement.id),
    );
    if (failed !== undefined) return deny(`'${failed.id}' could not be evaluated`, { rules: [failed.id] });
    const determining = inOrder.filter(({ id }) => reason.includes(id));
    const names = determining.map(({ id }) => id);
    if (determining.length === 0) return deny("no Cedar policy permits this call");
    if (decision === "deny") return deny(describeForbid(determining), { rules: names });
    const applied = names.flatMap((id) => this.#applied.get(id) ?? []);
    return combineRules(applied, request.tool, true, request);
  }

  /** Finds a tool of the schema. One with another input schema could have arguments that Cedar does not see. */
  #find(subject: PolicySubject): KnownTool | undefined {
    const found = this.#checked.get(subject);
    if (found !== undefined) return found;
    const known = this.#tools.get(subject.name);
    if (known === undefined || known.schema !== canonicalText(subject.inputSchema)) return undefined;
    this.#checked.set(subject, known);
    return known;
  }
}

type Evaluated = Pick<ResidualResponse, "satisfied" | "errored" | "residuals">;

const NOTHING: Evaluated = Object.freeze({ satisfied: [], errored: [], residuals: {} });

const UNCLEAR_PATH = deny("no Cedar policy permits this call as its paths and URLs are otherwise spelled");

/** Whether a policy can forbid a call that others permit, or ask a person. */
function canRestrict({ effect, annotations: { ask } }: CedarStatement): boolean {
  return effect === "forbid" || ask !== undefined;
}

function dataOf(cedar: string, grants: CedarData["grants"], tools: readonly PolicyTool[]): CedarData {
  const inOrder = tools.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return { cedar, grants, tools: inOrder.map(({ name, inputSchema }) => ({ name, inputSchema })) };
}

const NO_PRINCIPAL = "it depends on the principal, and the call has none";

const WHY = Object.freeze({
  yes: "its scope and its conditions are met",
  no: "its scope or its conditions are not met",
  unclear: "its evaluation failed",
});

function inOrder(rules: readonly AppliedRule[]): readonly AppliedRule[] {
  return rules.filter(({ use }) => use !== undefined).toSorted((a, b) => a.place - b.place);
}

function describeForbid(determining: readonly CedarStatement[]): string {
  return determining
    .map(({ id, annotations: { reason } }) => `'${id}' denies this call${reason ? `: ${reason}` : ""}`)
    .join("; ");
}

/** @throws {TypeError} if a grant is invalid. */
function checkGrants(grants: CedarPolicyOptions["grants"]): ReadonlyMap<string, AllowedUse> {
  const named = Object.entries(grants);
  const { rules } = checkOptions({
    rules: named.map(([name, use]) => ({ ...use, name, tools: ["*"], effect: "allow" as const })),
  });
  return new Map(rules.map((rule, index) => [named[index]?.[0] as string, rule as AllowedUse]));
}

/** Names of parsed policies whose `CedarPolicy` is gone. Cedar never forgets a parsed policy, which it stores by name. */
const freeNames: string[] = [];
const names = new FinalizationRegistry<string>((name) => freeNames.push(name));
let namesGiven = 0;

/** Has Cedar parse schema and policies once, under a name. */
function preparse(
  cedar: CedarLibrary,
  owner: CedarPolicy,
  schema: SchemaJson<string>,
  statements: readonly CedarStatement[],
): string {
  const name = freeNames.pop() ?? `sandgate ${++namesGiven}`;
  names.register(owner, name);
  const staticPolicies = Object.fromEntries(statements.map(({ id, text }) => [id, text]));
  for (const answer of [
    cedar.preparseSchema(name, schema),
    cedar.preparsePolicySet(name, { staticPolicies }),
  ])
    if (answer.type === "failure") throw new Error(answer.errors.map(({ message }) => message).join("; "));
  return name;
}

/** Returns a tool of the schema. */
function knownTool(inputSchema: PolicyTool["inputSchema"]): KnownTool {
  return { schema: canonicalText(inputSchema), type: inputTypeOf(inputSchema) };
}

/**
 * Returns a call in Cedar's terms.
 *
 * @param readsWorkspace Whether a policy reads the workspace. If not, it is not passed.
 * @param input Default: that of the request.
 * @throws {CedarValueError} if the arguments have no representation in Cedar.
 */
function callOf(
  request: PolicyRequest,
  { type }: KnownTool,
  readsWorkspace: boolean,
  input: JsonValue = request.input,
): CedarCall {
  const { tool, sessionId, principal } = request;
  const workspace = readsWorkspace ? request.workspace : undefined;
  return {
    principal: entityId("Principal", principal?.id ?? ""),
    action: entityId("Action", tool.name),
    resource: entityId("Tool", tool.name),
    context: {
      sessionId,
      ...(workspace !== undefined && { workspace }),
      ...(type && { input: toCedarValue(input, type) }),
    },
    entities: entitiesOf(request),
    validateRequest: true,
  };
}
