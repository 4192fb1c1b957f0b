import type { DetailedError, PolicyJson, SchemaJson } from "@cedar-policy/cedar-wasm/nodejs";
import { suggest } from "../../base/unknown-names.ts";
import { ConfigError, type ConfigProblem } from "../../config/problem.ts";
import type { CedarLibrary } from "./cedar-library.ts";
import { NAMESPACE } from "./cedar-schema.ts";

/** What the outcome of a policy depends on. */
interface CedarReads {
  /** Whether it depends on the principal. */
  readonly principal: boolean;
  /** The members of the context that it names; `"all"` if it uses the context as a whole. */
  readonly context: ReadonlySet<string> | "all";
}

interface Found {
  principal: boolean;
  readonly members: Set<string>;
  isWhole: boolean;
}

/** The names in a policy that Cedar does not compare with the schema, so that a misspelt one would just never match. */
interface CedarNames {
  /** The ids of tools. */
  readonly tools: readonly string[];
  /** The tags that `resource.tags` is tested for. */
  readonly tags: readonly string[];
  /** The ids of roles. */
  readonly roles: readonly string[];
}

interface Names {
  readonly tools: string[];
  readonly tags: string[];
  readonly roles: string[];
}

/** The annotations that a policy can have. Others are refused: a misspelt `@ask` must not allow calls. */
const ANNOTATIONS = ["id", "ask", "remember", "grant", "reason", "owner"] as const;

/** Annotations that only a `permit` can have. */
const OF_PERMITS: readonly string[] = ["ask", "remember", "grant"];

/** A policy of a Cedar text. */
export interface CedarStatement {
  /** The value of `@id`. Default: `policy 3` for the third policy. */
  readonly id: string;
  readonly effect: PolicyJson["effect"];
  readonly text: string;
  readonly annotations: { readonly [Name in (typeof ANNOTATIONS)[number]]?: string };
  readonly reads: CedarReads;
}

/** What {@link readCedar} found. */
export interface CedarSource {
  readonly statements: readonly CedarStatement[];
  readonly warnings: readonly ConfigProblem[];
}

/** What the policies of a text are checked against. */
interface CedarSetting {
  readonly file: string;
  readonly schema: SchemaJson<string>;
  /** The names that `@grant` can have. */
  readonly grants: readonly string[];
  /** The tags of the tools. */
  readonly tags: readonly string[];
}

/**
 * Reads the policies of a Cedar text, and validates them against a schema.
 *
 * @throws {ConfigError} with every problem.
 */
export function readCedar(
  cedar: CedarLibrary,
  text: string,
  { file, schema, grants, tags }: CedarSetting,
): CedarSource {
  const reader = new CedarReader(cedar, text, file);
  const statements = reader.statements();
  reader.validate(statements, schema);
  reader.checkNames(statements, Object.keys(schema[NAMESPACE]?.actions ?? {}), tags);
  reader.checkRoles(statements);
  reader.checkAnnotations(statements, grants);
  return { statements, warnings: reader.finish() };
}

/** A policy, with its offset in the text and the names that it compares with. */
type Located = CedarStatement & { readonly offset: number; readonly names: CedarNames };

class CedarReader {
  readonly #cedar: CedarLibrary;
  readonly #text: string;
  readonly #file: string;
  readonly #problems: ConfigProblem[] = [];

  constructor(cedar: CedarLibrary, text: string, file: string) {
    this.#cedar = cedar;
    this.#text = text;
    this.#file = file;
  }

  /** @throws {ConfigError} if the text is not valid Cedar. */
  statements(): readonly Located[] {
    const parts = this.#cedar.policySetTextToParts(this.#text);
    if (parts.type === "failure") {
      for (const error of parts.errors) this.#add(error, "error");
      throw new ConfigError(this.#problems);
    }
    if (parts.policy_templates.length > 0) {
      this.#problem(this.#text.indexOf("?"), "templates are unsupported: write a policy for each principal");
      throw new ConfigError(this.#problems);
    }
    let from = 0;
    return inSourceOrder(parts.policies).map((text, index): Located => {
      const offset = Math.max(this.#text.indexOf(text, from), from);
      from = offset + text.length;
      const json = this.#toJson(text);
      const { effect, annotations = {} } = json;
      const given = annotations as Readonly<Record<string, string | null>>;
      const set = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value ?? ""]));
      return {
        id: set["id"] || `policy ${index + 1}`,
        effect,
        text,
        annotations: set,
        offset,
        reads: readsOf(json),
        names: namesIn(json),
      };
    });
  }

  #toJson(text: string): PolicyJson {
    const answer = this.#cedar.policyToJson(text);
    if (answer.type === "success") return answer.json;
    for (const error of answer.errors) this.#add(error, "error");
    throw new ConfigError(this.#problems);
  }

  /** A `forbid` that can never apply is an error: it would protect nothing. */
  validate(statements: readonly Located[], schema: SchemaJson<string>): void {
    const answer = this.#cedar.validate({ schema, policies: { staticPolicies: this.#text } });
    if (answer.type === "failure") {
      for (const error of answer.errors) this.#add(error, "error");
      return;
    }
    for (const { error } of answer.validationErrors) this.#add(error, "error");
    for (const { policyId, error } of answer.validationWarnings) {
      const statement = statements[Number(policyId.slice("policy".length))];
      this.#add(error, statement?.effect === "forbid" ? "error" : "warning");
    }
  }

  /** Cedar validates the names of actions, but neither those of entities nor texts. */
  checkNames(statements: readonly Located[], tools: readonly string[], tags: readonly string[]): void {
    for (const { names, offset } of statements) {
      for (const tool of names.tools) {
        if (tools.includes(tool)) continue;
        this.#problem(offset, `there is no tool '${tool}'${didYouMean(tool, tools)}`);
      }
      for (const tag of names.tags) {
        if (tags.includes(tag)) continue;
        this.#problem(offset, `no tool has the tag '${tag}'${didYouMean(tag, tags)}`, "warning");
      }
    }
  }

  /**
   * Roles are the caller's to name, so none is wrong by itself. One that a single policy names, and that is almost another
   * one, is most likely misspelt.
   */
  checkRoles(statements: readonly Located[]): void {
    const uses = new Map<string, number>();
    for (const { names } of statements)
      for (const role of new Set(names.roles)) uses.set(role, (uses.get(role) ?? 0) + 1);
    const suspected = new Set<string>();
    // Of two that are named as often, the later one is suspected.
    for (const { names, offset } of statements.toReversed()) {
      for (const role of new Set(names.roles)) {
        const others = [...uses.keys()].filter((other) => other !== role && !suspected.has(other));
        const meant = uses.get(role) === 1 ? suggest(role, others) : undefined;
        if (meant === undefined) continue;
        suspected.add(role);
        const message = `only this policy names the role '${role}'; did you mean '${meant}'?`;
        this.#problem(offset, message, "warning");
      }
    }
  }

  checkAnnotations(statements: readonly Located[], grants: readonly string[]): void {
    const ids = new Set<string>();
    for (const { id, effect, annotations, offset } of statements) {
      if (ids.has(id)) this.#problem(offset, `the id '${id}' is already used by another policy`);
      ids.add(id);
      for (const name of Object.keys(annotations)) {
        const isKnown = (ANNOTATIONS as readonly string[]).includes(name);
        if (!isKnown) this.#problem(offset, `unknown annotation @${name}${didYouMean(name, ANNOTATIONS)}`);
        else if (effect === "forbid" && OF_PERMITS.includes(name))
          this.#problem(offset, `only a permit can have the annotation @${name}`);
      }
      if (effect === "permit") this.#checkPermit(annotations, grants, offset);
    }
  }

  #checkPermit(
    { ask, remember, grant = "default" }: CedarStatement["annotations"],
    grants: readonly string[],
    offset: number,
  ): void {
    if (ask === "") this.#problem(offset, "@ask must have the question that a person is asked");
    if (remember !== undefined && (remember !== "session" || ask === undefined))
      this.#problem(offset, '@remember must be "session", on a permit with @ask');
    if (!grants.includes(grant))
      this.#problem(offset, `there is no grant '${grant}'${didYouMean(grant, grants)}`);
  }

  /** Returns the warnings. @throws {ConfigError} if there is an error. */
  finish(): readonly ConfigProblem[] {
    this.#problems.sort((a, b) => a.line - b.line || a.column - b.column);
    if (this.#problems.some(({ severity }) => severity === "error")) throw new ConfigError(this.#problems);
    return this.#problems;
  }

  #add({ message, help, sourceLocations = [] }: DetailedError, severity: ConfigProblem["severity"]): void {
    const [where] = sourceLocations;
    // Cedar's own numbers for policies say nothing to a reader: the position does.
    const what = message.replace(/^for policy `policy\d+`, /, "");
    const parts = [what, where?.label, help].filter((part) => typeof part === "string" && part !== "");
    // Cedar counts in bytes of UTF-8.
    const offset = Buffer.from(this.#text)
      .subarray(0, where?.start ?? 0)
      .toString().length;
    this.#problem(offset, parts.join("; "), severity);
  }

  #problem(offset: number, message: string, severity: ConfigProblem["severity"] = "error"): void {
    const before = this.#text.slice(0, Math.max(offset, 0)).split("\n");
    this.#problems.push({
      file: this.#file,
      line: before.length,
      column: (before.at(-1)?.length ?? 0) + 1,
      severity,
      message,
    });
  }
}

/** Cedar sorts the policies of a text by the ids `policy0`, `policy1`, `policy10`, …, which it gives them in order. */
function inSourceOrder(sorted: readonly string[]): readonly string[] {
  const ids = sorted.map((_, index) => index).sort((a, b) => (`${a}` < `${b}` ? -1 : 1));
  const inOrder: string[] = [];
  for (const [place, index] of ids.entries()) inOrder[index] = sorted[place] as string;
  return inOrder;
}

function didYouMean(name: string, names: readonly string[]): string {
  const best = suggest(name, names);
  return best === undefined ? "" : `; did you mean '${best}'?`;
}

/** Returns the names in a policy, in Cedar's JSON format for policies. */
function namesIn(policy: object): CedarNames {
  const names = { tools: [], tags: [], roles: [] };
  visit(policy, names);
  return names;
}

function visit(node: unknown, names: Names): void {
  if (typeof node !== "object" || node === null) return;
  const { type, id, ...operators } = node as { readonly [name: string]: unknown };
  if (typeof id === "string") {
    if (type === `${NAMESPACE}::Tool`) names.tools.push(id);
    if (type === `${NAMESPACE}::Role`) names.roles.push(id);
    return;
  }
  for (const operator of ["contains", "containsAny", "containsAll"]) {
    const { left, right } = (operators[operator] ?? {}) as { readonly left?: unknown; right?: unknown };
    if (isTags(left)) names.tags.push(...textsIn(right));
  }
  for (const part of Object.values(node)) visit(part, names);
}

/** Whether an expression is `resource.tags`. */
function isTags(expression: unknown): boolean {
  const { ".": get } = (expression ?? {}) as {
    readonly "."?: { readonly left?: { readonly Var?: unknown }; readonly attr?: unknown };
  };
  return get?.left?.Var === "resource" && get.attr === "tags";
}

/** Returns a literal text, or those of a set. */
function textsIn(expression: unknown): readonly string[] {
  const { Value, Set: set } = (expression ?? {}) as { readonly Value?: unknown; readonly Set?: unknown };
  if (typeof Value === "string") return [Value];
  return Array.isArray(set) ? set.flatMap(textsIn) : [];
}

/** Returns what a policy reads, in Cedar's JSON format for policies. */
function readsOf(policy: {
  readonly principal: { readonly op: string };
  readonly conditions: readonly unknown[];
}): CedarReads {
  const found = { principal: policy.principal.op !== "All", members: new Set<string>(), isWhole: false };
  visitReads(policy.conditions, found);
  return { principal: found.principal, context: found.isWhole ? "all" : found.members };
}

/** Whether a policy reads a member of the context. */
export function readsContext({ context }: CedarReads, member: string): boolean {
  return context === "all" || context.has(member);
}

function visitReads(node: unknown, found: Found): void {
  if (typeof node !== "object" || node === null) return;
  const { Var, ".": get, has } = node as { readonly [operator: string]: unknown };
  const member = memberOf(get) ?? memberOf(has);
  if (member !== undefined) {
    found.members.add(member);
    return;
  }
  if (Var === "principal") found.principal = true;
  if (Var === "context") found.isWhole = true;
  for (const part of Object.values(node)) visitReads(part, found);
}

/** Returns the member of the context that an access or a test names. */
function memberOf(operands: unknown): string | undefined {
  const { left, attr } = (operands ?? {}) as { readonly left?: { readonly Var?: unknown }; attr?: unknown };
  return left?.Var === "context" && typeof attr === "string" ? attr : undefined;
}

/**
 * Whether a residual, which is what partial evaluation leaves of a policy, can be true for some principal. Cedar does not
 * simplify `unknown && false`. If in doubt, it can.
 */
export function canBeMet({
  conditions,
}: {
  readonly conditions: readonly { readonly body: unknown }[];
}): boolean {
  return conditions.every(({ body }) => canBeTrue(body));
}

function canBeTrue(expression: unknown): boolean {
  const { Value, "&&": both } = expression as {
    readonly Value?: unknown;
    readonly "&&"?: { readonly left: unknown; readonly right: unknown };
  };
  return both === undefined ? Value !== false : canBeTrue(both.left) && canBeTrue(both.right);
}
