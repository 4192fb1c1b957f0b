import { basename } from "node:path";
import { ConfigError } from "../../config/problem.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";
import { isCedarData } from "../cedar/cedar-library.ts";
import { compareDecisions, DECISION_CHANGES } from "../compare-decisions.ts";
import { loadPolicyText } from "../file/load.ts";
import {
  checkDecision,
  type PolicyDecision,
  type PolicyPlace,
  type PolicyRequest,
  type PolicySubject,
  type RuntimePolicy,
} from "../policy.ts";
import type { RulePolicyOptions } from "../rule/rule.ts";
import { ruleName } from "../rule/rule-flaws.ts";
import { RulePolicy } from "../rule/rule-policy.ts";
import { strictest } from "../strictest.ts";
import { type EditedCall, type EditedPolicy, editsAgainst, selectorOf, withEdit } from "./edits.ts";
import { BLOCKS, writtenPolicy, writtenRule } from "./written-policy.ts";

/** What to change in a policy so that it allows a call, or why there is nothing to suggest. */
export type PolicySuggestion = SuggestedChange | WithheldSuggestion;

/** A small change of a policy, with which it allows a call that it denied. It was tried. */
export interface SuggestedChange {
  /** What the changed policy decides: `ask` if a person still has to confirm the call. */
  readonly decision: "allow" | "ask";
  /** What the change does, and why it is needed. Like the texts of decisions, it is for operators. */
  readonly text: string;
  /** The rules that change, as items of `rules` in YAML, in ASCII: a comment before each says where it belongs. */
  readonly yaml: string;
  /** The same rules, one by one. */
  readonly changes: readonly SuggestedRule[];
  /** The similar calls that the changed policy also allows: in prose, without arguments. */
  readonly widens: readonly string[];
  /** The change that allows exactly this call. Absent if this is that change, or no change does. */
  readonly exactly?: Omit<SuggestedChange, "exactly">;
}

/** A rule that takes the place of another one, or is new. */
export interface SuggestedRule {
  readonly kind: "replace" | "add";
  /** The name of the rule. */
  readonly rule: string;
  /** Where the rule is, or that after which a new one belongs; absent if the policy was made in code. */
  readonly file?: string;
  readonly line?: number;
  /** The rule, as an item of `rules`. */
  readonly yaml: string;
}

/** There is nothing to suggest. */
interface WithheldSuggestion {
  /** Why, for operators. */
  readonly withheld: string;
}

/**
 * Maximum number of arguments that are changed one by one, and tools that are tried with the same arguments.
 */
const MAX_ARGUMENTS = 20;

const MAX_TOOLS = 200;

/** A call that is like another one, and how they differ. */
interface Neighbour {
  readonly text: string;
  readonly request: PolicyRequest;
}

/** Maximum number of changes that are tried for one policy. */
const MAX_TRIED = 100;
/** Maximum number of changes that a suggestion has. */
const MAX_EDITS = 10;
/** The longest policy for which a change is looked for. It is loaded again, on the main thread. */
const MAX_POLICY_CHARS = 500_000;
/** The name of a policy that was made in code. Its directories are absolute. */
const IN_CODE = "policy.yaml";

/** What {@link suggestChange} needs besides the policy. */
export interface SuggestionOptions {
  /** The registered tools, as `registry.subjects` has them: the changed policy is checked against them. */
  readonly tools: readonly PolicySubject[];
}

/** One of the policies that are joined. */
interface Part {
  /** `undefined` for a policy in Cedar. */
  readonly options: RulePolicyOptions | undefined;
  readonly place: PolicyPlace | undefined;
}

/** A changed policy that was loaded from its text, and decided. */
interface Remedied extends EditedPolicy {
  readonly policy: RuntimePolicy;
  readonly decision: PolicyDecision;
}

/**
 * Looks for the smallest change of a policy's rules with which it allows a call that it denies: an exception from each rule
 * that denies exactly this call, a higher quota, one more sandbox, a wider condition of a rule that nearly allows it, or a rule
 * for exactly this call. The changed policy is written, loaded and checked like any other, its invariants included, and decides
 * on the call, before it is suggested.
 *
 * @param policy One that is data: it has `sources`, as a `RulePolicy` has.
 * @param request The call. Without its `history`, quotas cannot be raised.
 * @returns the change, or why there is nothing to suggest. Arguments of the call are part of the change.
 */
export async function suggestChange(
  policy: RuntimePolicy,
  request: PolicyRequest,
  options: SuggestionOptions,
): Promise<PolicySuggestion> {
  const exactly = await changeFor(policy, request, options, false);
  const first = await changeFor(policy, request, options, true);
  if ("withheld" in first) return exactly;
  return "withheld" in exactly || exactly.yaml === first.yaml ? first : { ...first, exactly };
}

/** @param widens Whether the change may allow other calls, too. */
async function changeFor(
  policy: RuntimePolicy,
  request: PolicyRequest,
  { tools }: SuggestionOptions,
  widens: boolean,
): Promise<PolicySuggestion> {
  const { sources = [] } = policy;
  if (sources.length === 0) return { withheld: "the policy is in code: it has no rules to change" };
  if (sources.some(({ length }) => length > MAX_POLICY_CHARS))
    return { withheld: "the policy is too long to look for a change of it" };
  if (isGranted(checkDecision(await policy.check(request))))
    return { withheld: "the policy does not deny the call" };
  const parts = sources.map((source, index) => partOf(source, policy.places?.[index]));
  const call: EditedCall = { request, selector: selectorOf(request), widens };
  const after: RuntimePolicy[] = [];
  const before: RuntimePolicy[] = [];
  const changes: SuggestedRule[] = [];
  const texts: string[] = [];
  for (const { options, place } of parts) {
    if (options === undefined)
      return { withheld: "a part of the policy is in Cedar: its text is not changed" };
    const current = new RulePolicy(options);
    before.push(current);
    const decision = current.check(request);
    if (isGranted(decision)) {
      after.push(current);
      continue;
    }
    const remedied = await remedyFor(options, place, { call, decision, tools });
    if (typeof remedied === "string") return { withheld: remedied };
    after.push(remedied.policy);
    texts.push(...remedied.edits.map(({ text }) => text));
    changes.push(...changesOf(remedied, options, place));
  }
  const changed = strictest(...after);
  const decision = checkDecision(await changed.check(request));
  if (decision.decision === "deny")
    return { withheld: `the joined policies still deny the call: ${decision.reason}` };
  if (!isGranted(decision)) return { withheld: "the joined policies still grant the call nothing" };
  const { selector } = call;
  return {
    decision: decision.decision,
    text: texts.join(" "),
    yaml: changes.map(commented).join("\n"),
    changes,
    widens: [
      ...(selector?.left ?? []).map((key) => `any value of ${key}, which is too long to be part of the rule`),
      ...(await widenedBy(strictest(...before), changed, request, tools)),
    ],
  };
}

function partOf(source: string, place: PolicyPlace | undefined): Part {
  const data = JSON.parse(source) as JsonValue;
  return { options: isCedarData(data) ? undefined : (data as unknown as RulePolicyOptions), place };
}

interface Denied {
  readonly call: EditedCall;
  readonly decision: PolicyDecision;
  readonly tools: readonly PolicySubject[];
}

/** Returns why no change helps; `undefined` if one could. */
async function remedyFor(
  options: RulePolicyOptions,
  place: PolicyPlace | undefined,
  { call, decision, tools }: Denied,
): Promise<Remedied | string> {
  const { request } = call;
  const waiting: { readonly edited: EditedPolicy; readonly decision: PolicyDecision }[] = [
    { edited: { options, edits: [] }, decision },
  ];
  let problem: string | undefined;
  let tried = 0;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    for (const edit of editsAgainst(next.decision, next.edited.options, call)) {
      if (++tried > MAX_TRIED) return "no small change of the policy allows the call";
      const edited = withEdit(next.edited, edit);
      const loaded = await load(edited.options, place, tools);
      if (typeof loaded === "string") {
        problem ??= loaded;
        continue;
      }
      const answer = loaded.check(request);
      if (isGranted(answer)) return { ...edited, policy: loaded, decision: answer };
      if (edited.edits.length < MAX_EDITS) waiting.push({ edited, decision: answer });
    }
  }
  if (call.selector === undefined) return "the arguments are too long to be part of a rule";
  return problem === undefined
    ? "no small change of the policy allows the call"
    : `a change that would allow the call is not valid: ${problem}`;
}

/** Writes a policy and loads it from its text, as it would be after the change. Returns the first problem, if it has one. */
async function load(
  options: RulePolicyOptions,
  place: PolicyPlace | undefined,
  tools: readonly PolicySubject[],
): Promise<RulePolicy | string> {
  const invariants = place?.invariants ?? [];
  const text = writtenPolicy(options, place?.file, invariants.length === 0 ? {} : { invariants });
  try {
    return (await loadPolicyText(text, place?.file ?? IN_CODE, tools)).policy;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.problems.find(({ severity }) => severity === "error")?.message ?? error.message;
  }
}

/** A question without a grant amounts to a denial. */
function isGranted(decision: PolicyDecision): boolean {
  return decision.decision !== "deny" && decision.grant !== undefined;
}

function changesOf(
  { edits }: Remedied,
  { rules }: RulePolicyOptions,
  place: PolicyPlace | undefined,
): readonly SuggestedRule[] {
  return edits.map(({ index, rule }) => {
    const line = place?.rules[Math.min(index, rules.length - 1)]?.line;
    return {
      kind: index < rules.length ? "replace" : "add",
      rule: ruleName(rule, index),
      ...(place && { file: place.file }),
      ...(line !== undefined && { line }),
      yaml: writeYamlItems([writtenRule(rule, place?.file)], BLOCKS),
    };
  });
}

/** A comment ends with its line: names of rules can have line breaks. */
function commented({ kind, rule, file, line, yaml }: SuggestedRule): string {
  const at =
    file === undefined
      ? ""
      : ` of ${JSON.stringify(basename(file))}${line === undefined ? "" : `, line ${line}`}`;
  const what =
    kind === "replace" ? `In place of the rule ${JSON.stringify(rule)}${at}` : `After the last rule${at}`;
  return `# ${ascii(what)}\n${yaml}`;
}

function ascii(text: string): string {
  return text.replace(/[^ -~]/g, "?");
}

/** Says which calls that are like one a policy permits, and an earlier one did not. */
async function widenedBy(
  before: RuntimePolicy,
  after: RuntimePolicy,
  request: PolicyRequest,
  tools: readonly PolicySubject[],
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const neighbour of neighboursOf(request, tools)) {
    const [old, now] = [await before.check(neighbour.request), await after.check(neighbour.request)];
    const changes = compareDecisions(checkDecision(old), checkDecision(now));
    if (changes.some((change) => DECISION_CHANGES[change] === "wider")) found.push(neighbour.text);
  }
  return found;
}

function* neighboursOf(request: PolicyRequest, tools: readonly PolicySubject[]): Generator<Neighbour> {
  const { sessionId, principal, input, tool } = request;
  yield { text: "the same call in other sessions", request: { ...request, sessionId: `${sessionId}-other` } };
  if (principal !== undefined) {
    const other = { ...principal, id: `${principal.id}-other` };
    yield { text: "the same call by other callers", request: { ...request, principal: other } };
    yield { text: "the same call without a principal", request: { ...request, principal: undefined } };
  }
  if (isJsonObject(input)) {
    const { required } = tool.inputSchema;
    for (const [name, value = null] of Object.entries(input).slice(0, MAX_ARGUMENTS)) {
      const changed = { ...input, [name]: otherThan(value) };
      yield { text: `calls with another argument '${name}'`, request: { ...request, input: changed } };
      if (Array.isArray(required) && required.includes(name)) continue;
      const { [name]: _, ...rest } = input;
      yield { text: `calls without the argument '${name}'`, request: { ...request, input: rest } };
    }
    const more = { ...input, "another argument": true };
    yield { text: "calls with more arguments", request: { ...request, input: more } };
  }
  for (const other of tools.filter(({ name }) => name !== tool.name).slice(0, MAX_TOOLS))
    yield { text: `calls of '${other.name}' with the same arguments`, request: { ...request, tool: other } };
}

function otherThan(value: JsonValue): JsonValue {
  if (typeof value === "string") return `${value}x`;
  if (typeof value === "number") return value + 1;
  return typeof value === "boolean" ? !value : "another value";
}

/** A text that YAML reads as a string, also in a list between brackets. */
const PLAIN = /^(?:[A-Za-z_/]|\.{1,2}\/)[A-Za-z0-9_/.-]*$/;
const RESERVED = /^(?:true|false|null|yes|no|on|off|y|n)$/i;
/** Everything but visible ASCII: what cannot be seen, or looks like another character. */
const UNUSUAL = /[^ -~]/g;

/**
 * Writes objects as the items of a list in YAML: a line for each member, and for each member of the objects that are named
 * `blocks`. Texts consist of visible ASCII characters; all other ones are escaped.
 */
function writeYamlItems(items: readonly JsonObject[], blocks: readonly string[]): string {
  return items.map((item) => writeItem(item, blocks)).join("");
}

function writeItem(item: JsonObject, blocks: readonly string[]): string {
  let text = "";
  for (const [name, value] of Object.entries(item)) {
    text += `${text === "" ? "- " : "  "}${scalar(name)}:`;
    if (blocks.includes(name) && isJsonObject(value) && Object.keys(value).length > 0) {
      const members = Object.entries(value);
      text += `\n${members.map(([key, member]) => `    ${scalar(key)}: ${flow(member)}\n`).join("")}`;
    } else text += ` ${flow(value)}\n`;
  }
  return text === "" ? "- {}\n" : text;
}

function flow(value: JsonValue | undefined): string {
  if (typeof value === "string") return scalar(value);
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (!isJsonObject(value)) return JSON.stringify(value ?? null);
  const members = Object.entries(value);
  return members.length === 0
    ? "{}"
    : `{ ${members.map(([key, member]) => `${scalar(key)}: ${flow(member)}`).join(", ")} }`;
}

function scalar(text: string): string {
  if (PLAIN.test(text) && !RESERVED.test(text)) return text;
  return JSON.stringify(text).replace(
    UNUSUAL,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
