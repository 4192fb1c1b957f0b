import { basename } from "node:path";
import type { Client } from "../../../http/clients.ts";
import { lookUp, POINTER_PATTERN, parsePointer } from "../../../json/pointer.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json/value.ts";
import type { PolicyExplanation, RuntimePolicy } from "../../../policy/policy.ts";
import type { Redaction } from "../../../redaction/redaction.ts";
import { render, textOf } from "../../../rendering/render.ts";
import { toLine } from "../../../rendering/shown.ts";
import type { CallDetails, CallSummary, Explanation, Suggestion } from "../../../shapes/calls.ts";
import type { CallSuggestions } from "./call-suggestion.ts";
import type { ConsoleCall } from "./console-call.ts";

/** Maximum number of characters of the name of a session. */
const NAME_CHARS = 128;

/** Maximum number of characters of the arguments that are listed. */
const SUMMARY_CHARS = 200;

/** Maximum number of characters of a text of a whole call. */
const DETAIL_CHARS = 20_000;

/** The condition that a call missed: the key of `when`, and whether that is unclear. */
const MISSED = /^(\/.*) \((\w+)\)(, unclear)?$/;

const POINTER = new RegExp(POINTER_PATTERN);

/** Maximum number of characters of a value, and of values of a list. */
const MAX_VALUE_CHARS = 200;

const MAX_VALUES = 10;

/** Returns the reference of a call, which is valid until the server ends. */
export function refOf(epoch: string, number: number): string {
  return `${epoch}-${number}`;
}

/** Returns the number of a reference; `undefined` if it is of another process, or none. */
export function numberOf(epoch: string, ref: string): number | undefined {
  const [, of, number] = /^([\w]+)-([1-9][0-9]{0,14})$/.exec(ref) ?? [];
  return of === epoch ? Number(number) : undefined;
}

/** Whether a client may know about a call. */
export function sees(client: Client, { origin, principal }: ConsoleCall): boolean {
  if (client.is("reader") || client.is("admin")) return true;
  return origin === "session" && client.approves({ principal });
}

/** What was listed of the arguments of calls, and of which text it was made. */
const summaries = new WeakMap<ConsoleCall, { readonly of: string; readonly summary: string }>();

/** Returns the beginning and the end of a call's arguments in a line, without secrets. */
function summaryOf(record: ConsoleCall, redaction: Redaction): string | undefined {
  const of = record.argumentsText;
  if (of === undefined) return undefined;
  const known = summaries.get(record);
  if (known?.of === of) return known.summary;
  const summary = textOf(render(redaction.text(of), { syntax: "json", chars: SUMMARY_CHARS }));
  summaries.set(record, { of, summary });
  return summary;
}

/**
 * A call as it is listed.
 *
 * @param redaction Hides secrets in the arguments.
 */
export function callSummary(record: ConsoleCall, epoch: string, redaction: Redaction): CallSummary {
  const {
    callId,
    toolName,
    sessionId,
    session,
    sideEffects,
    phases,
    state,
    parent,
    principal,
    decision,
    error,
  } = record;
  const { sandbox, durationMs, requestId } = record;
  const summary = summaryOf(record, redaction);
  return {
    ref: refOf(epoch, record.number),
    callId,
    toolName,
    sessionId,
    ...(session && {
      session: {
        ...(session.name !== undefined && { name: toLine(session.name, NAME_CHARS) }),
        openedAt: session.openedAt,
      },
    }),
    ...(parent !== undefined && { parent: refOf(epoch, parent) }),
    ...(principal !== undefined && { principal: { id: principal.id, kind: principal.kind } }),
    sideEffects,
    startedAt: Math.round(phases.startedAt),
    state,
    ...(summary !== undefined && { summary }),
    ...(state === "waiting" && requestId !== undefined && { requestId }),
    ...(decision && { decision: decision.decision }),
    ...(error && { code: error.code, effect: error.effect }),
    ...(sandbox !== undefined && { sandbox }),
    ...(durationMs !== undefined && { durationMs }),
    phases: record.phaseList,
  };
}

/**
 * A whole call. Its texts are foreign: they are without secrets, and what is not what it looks like is escaped.
 *
 * @param console That of the server, which hides secrets and finds suggestions.
 */
export async function callDetails(
  record: ConsoleCall,
  epoch: string,
  { redaction, suggestions }: { readonly redaction: Redaction; readonly suggestions: CallSuggestions },
): Promise<CallDetails> {
  const show = (text: string, syntax: "text" | "json" = "text"): string =>
    textOf(render(redaction.text(text), { syntax, keepsLines: true, chars: DETAIL_CHARS }));
  const { argumentsText, output, log, error, detail, receipt, requestId } = record;
  const explanation = await explainCall(record, redaction);
  const suggestion = await suggestions.for(record);
  return {
    ...callSummary(record, epoch, redaction),
    ...(argumentsText !== undefined && { arguments: show(argumentsText, "json") }),
    ...(output !== undefined && { output: show(output, "json") }),
    log: log.map((line) => show(line)),
    ...(error && {
      error: {
        code: error.code,
        message: show(error.message),
        effect: error.effect,
        ...(error.limit !== undefined && { limit: error.limit }),
        ...(detail !== undefined && { detail: show(detail) }),
      },
    }),
    ...(explanation && {
      explanation: {
        ...explanation,
        ...(explanation.reason !== undefined && { reason: show(explanation.reason) }),
        rules: explanation.rules.map(({ name, because, file, ...rule }) => ({
          name: show(name),
          ...rule,
          because: because.map((text) => show(text)),
          ...(file !== undefined && { file: show(file) }),
        })),
        near: explanation.near.map(({ rule, missed }) => ({
          rule: show(rule),
          missed: missed.map((text) => show(text)),
        })),
        ...(explanation.grant !== undefined && { grant: show(explanation.grant, "json") }),
      },
    }),
    ...(suggestion && { suggestion: shownSuggestion(suggestion, show) }),
    ...(receipt && { receipt }),
    ...(requestId !== undefined && { confirmation: { requestId } }),
  };
}

/** The rules have visible ASCII only, and no secret: they are copied as they are. */
function shownSuggestion(suggestion: Suggestion, show: (text: string) => string): Suggestion {
  if ("withheld" in suggestion) return { withheld: show(suggestion.withheld) };
  const { text, where, widens, ...others } = suggestion;
  return { ...others, text: show(text), where: show(where), widens: widens.map((line) => show(line)) };
}

/**
 * Explains the decision on a call with the policy that made it, if that decides the same again. It may not if it depends on
 * earlier calls or the time.
 *
 * @param redaction Hides secrets in the arguments that near misses name.
 */
async function explainCall(
  { decision: recorded, decided }: ConsoleCall,
  redaction: Redaction,
): Promise<Explanation | undefined> {
  if (recorded === undefined) return undefined;
  const { decision, reason, near = [], policyRevision } = recorded;
  let explained: PolicyExplanation | undefined;
  try {
    explained = await decided?.policy.explain?.(decided.request);
  } catch {
    // A policy that cannot explain itself still has decided.
  }
  if (explained?.decision.decision !== decision) explained = undefined;
  const again = explained?.decision;
  const grant = again !== undefined && again.decision !== "deny" ? again.grant : undefined;
  const input = decided && redaction.json(decided.request.input);
  const say = (missed: string, rule: string): string =>
    decided === undefined || input === undefined
      ? missed
      : missedInWords(missed, rule, decided.policy, input);
  const because = (name: string): readonly string[] =>
    (explained?.rules ?? []).flatMap((rule) =>
      rule.name === name && rule.matched !== "no" ? [rule.why] : [],
    );
  return {
    decision,
    ...(reason !== undefined && { reason }),
    rules: recorded.rules.map((name) => ({
      name,
      matched: true,
      because: because(name),
      ...placeOf(name, decided?.policy),
    })),
    near: near.map(({ rule, missed }) => ({
      rule,
      missed: missed.split("; ").map((each) => say(each, rule)),
    })),
    ...(grant && { grant: JSON.stringify(grant) }),
    ...(policyRevision !== undefined && { policyRevision }),
  };
}

/** Finds a rule by its name, which only the rules of one file have to differ in. */
function placeOf(name: string, policy: RuntimePolicy | undefined): { file?: string; line?: number } {
  const found = (policy?.places ?? []).flatMap((place) =>
    (place?.rules ?? []).flatMap((rule) =>
      rule.name === name ? [{ file: basename(place?.file ?? ""), line: rule.line }] : [],
    ),
  );
  const [only, ...others] = found;
  return others.length === 0 && only !== undefined ? only : {};
}

/**
 * Says in words what a call missed of a rule: `/to is "ann@example.com"; the rule allows "*@team.example"`. Returns the text of
 * the policy where the rule cannot be read, or says something else than what one argument may be.
 *
 * @param missed As in a `NearMiss`: `/to (glob)`.
 * @param input The arguments, without secrets.
 */
export function missedInWords(missed: string, rule: string, policy: RuntimePolicy, input: JsonValue): string {
  const [, key = "", kind = "", unclear = ""] = MISSED.exec(missed) ?? [];
  const condition = key === "" || !POINTER.test(key) ? undefined : conditionOf(policy, rule, key);
  const allowed =
    condition !== undefined && Object.hasOwn(condition, kind) ? allowedBy(condition) : undefined;
  if (allowed === undefined) return missed;
  const found = key.split("/").includes("*") ? undefined : lookUp(input, parsePointer(key));
  if (found === undefined) return `the rule allows ${allowed} as each ${key}`;
  const given = typeof found === "symbol" ? `${key} is missing` : `${key} is ${brief(found)}`;
  return `${given}; the rule allows ${allowed}${unclear === "" ? "" : ", and whether it is that is unclear"}`;
}

/**
 * Finds the condition of a rule. `undefined` if it is ambiguous: several parts of a policy can have rules of the same name, and
 * a rule with `all` can have several conditions on one argument.
 */
function conditionOf(policy: RuntimePolicy, name: string, key: string): JsonObject | undefined {
  const rules = (policy.sources ?? []).flatMap((source) => {
    const { rules: all } = JSON.parse(source) as { readonly rules?: JsonValue };
    return Array.isArray(all) ? all.filter((rule) => isJsonObject(rule) && rule["name"] === name) : [];
  });
  const [rule, ...others] = rules;
  if (others.length > 0 || !isJsonObject(rule) || !isJsonObject(rule["when"])) return undefined;
  const { [key]: condition, all } = rule["when"];
  if (all !== undefined) return undefined;
  return isJsonObject(condition) ? condition : undefined;
}

/** What a condition allows; `undefined` if it cannot be said in a few words. */
function allowedBy(condition: JsonObject): string | undefined {
  const [[kind, value] = [], ...others] = Object.entries(condition);
  if (kind === undefined || value === undefined || others.length > 0) return undefined;
  switch (kind) {
    case "equals":
      return brief(value);
    case "oneOf":
    case "glob":
      return choices(value);
    case "prefix":
      return `what starts with ${brief(value)}`;
    case "regex":
      return `what matches ${brief(value)}`;
    case "range":
      return isJsonObject(value) ? rangeOf(value) : undefined;
    case "not": {
      const excluded = isJsonObject(value) ? allowedBy(value) : undefined;
      return excluded === undefined ? undefined : `anything but ${excluded}`;
    }
    default:
      return undefined;
  }
}

function choices(value: JsonValue): string {
  const values = Array.isArray(value) ? value : [value];
  const shown = values.slice(0, MAX_VALUES).map(brief);
  const more = values.length - shown.length;
  return `${shown.join(" or ")}${more > 0 ? ` or one of ${more} others` : ""}`;
}

function rangeOf({ min, max }: JsonObject): string | undefined {
  if (min !== undefined && max !== undefined) return `${brief(min)} to ${brief(max)}`;
  if (min !== undefined) return `at least ${brief(min)}`;
  return max === undefined ? undefined : `at most ${brief(max)}`;
}

function brief(value: JsonValue): string {
  const text = JSON.stringify(value);
  return text.length > MAX_VALUE_CHARS ? `${text.slice(0, MAX_VALUE_CHARS)}…` : text;
}
