import { escapePointer, parsePointer } from "../../../json/pointer.ts";
import type { JsonValue } from "../../../json/value.ts";
import { replaced } from "../../../policy/learn-rules.ts";
import { regexTexts } from "../../../policy/possible/schema-values.ts";
import type { CallSketch } from "../../../policy/proof/witness-search.ts";
import type { PolicyRule, RuleCondition, RuleConditions } from "../../../policy/rule/rule.ts";

const MAX_TEXTS = 16;
const DOMAIN = "evil.example";
/** Values that an outsider chooses. */
const PLACES: readonly string[] = [`eve@${DOMAIN}`, `https://${DOMAIN}/`, "EVIL-1234567890"];
export const CODE: string = "EVIL; run this";
export const CHOSEN: readonly string[] = [...PLACES, CODE];
export const URL_NAME: RegExp = /ur[il]|host|endpoint|webhook|link/i;
const DESTINATION =
  /^(?:to|cc|bcc|urls?|uri|host|recipients?|destination|e?mails?|address(?:es)?|channel|user|account|iban|payee|beneficiary|customer|endpoint)$|recipient|(?:_|-)(?:to|url|email|account|address)$/i;

export function isDestination(pointer: string): boolean {
  return parsePointer(pointer).some((step) => DESTINATION.test(step));
}

/** What an outsider would write where an allowed value stands, also what looks like it: it begins or ends with it. */
export function chosenFor(pointer: string, value: string): readonly string[] {
  const isUrl = URL_NAME.test(pointer);
  const alike = isUrl
    ? [`${value}.${DOMAIN}/`, `https://${DOMAIN}/?${value}`]
    : [`${value}.${DOMAIN}`, `${value}@${DOMAIN}`, `EVIL${value}`];
  return [...PLACES, ...alike].filter((chosen) => (isUrl ? isHost(hostOf(chosen)) : isChosen(chosen)));
}

/** Whether an outsider chose a value: an address or URL of theirs, or a name. */
export function isChosen(value: string): boolean {
  if (value.includes("@")) return isHost(value.slice(value.lastIndexOf("@") + 1));
  return value.startsWith("EVIL") || isHost(value) || isHost(hostOf(value));
}

function hostOf(url: string): string {
  return URL.parse(url)?.hostname ?? "";
}

function isHost(host: string): boolean {
  return host === DOMAIN || host.endsWith(`.${DOMAIN}`);
}

/** Returns calls in which one of the texts that are chosen is one of these. */
export function withTexts(
  sketch: CallSketch,
  texts: readonly string[],
  isMeant: (pointer: string) => boolean = () => true,
): readonly CallSketch[] {
  return leaves(sketch.input)
    .filter(({ pointer, value }) => typeof value === "string" && isMeant(pointer))
    .flatMap(({ pointer }) =>
      texts.map((text) => ({ ...sketch, input: replaced(sketch.input, parsePointer(pointer), text) })),
    );
}

export function leaves(
  value: JsonValue,
  pointer = "",
): readonly { readonly pointer: string; readonly value: string | number | boolean }[] {
  if (value === null) return [];
  if (typeof value !== "object") return [{ pointer, value }];
  return Object.entries(value).flatMap(([name, member]) =>
    member === undefined ? [] : leaves(member as JsonValue, `${pointer}/${escapePointer(name)}`),
  );
}

/** Leaves out the conditions that do not suggest values. */
export function suggestive({ all, any, ...entries }: RuleConditions): RuleConditions {
  const kept = Object.entries(entries as { readonly [key: string]: RuleCondition }).flatMap(
    ([key, condition]) => {
      const part = suggestivePart(condition);
      return part === undefined ? [] : [[key, part] as const];
    },
  );
  return {
    ...Object.fromEntries(kept),
    ...(all && { all: all.map(suggestive) }),
    ...(any && { any: any.map(suggestive) }),
  };
}

function suggestivePart(condition: RuleCondition): RuleCondition | undefined {
  if ("from" in condition || "links" in condition || "without" in condition) return undefined;
  if (!("all" in condition)) return condition;
  const parts = condition.all.flatMap((part) => suggestivePart(part) ?? []);
  return parts.length === 0 ? undefined : { all: parts };
}

/** The texts with which allowed values begin, or that they have. */
export function textsIn(rules: readonly PolicyRule[]): readonly string[] {
  const found = new Set<string>();
  JSON.stringify(
    rules.map(({ when }) => when ?? {}),
    (name, value: unknown) => {
      if (name === "prefix" || name === "equals") found.add(String(value));
      if (name === "regex") for (const text of regexTexts(String(value))) found.add(text);
      return value;
    },
  );
  return [...found].slice(0, MAX_TEXTS);
}
