import { escapePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../../json/value.ts";
import type { PolicyRequest } from "../policy.ts";
import type { RuleCondition, RuleConditions } from "../rule/rule.ts";

/** The most characters of arguments that are written whole, and of one that is written if the others are longer. */
const MAX_INPUT_CHARS = 1_000;
const MAX_MEMBER_CHARS = 200;

/** Conditions that a call meets, and no call with other arguments or of another principal. */
export interface CallSelector {
  /** By the keys of `when`. */
  readonly values: Readonly<Record<string, JsonValue>>;
  /** The arguments that are too long to be written. The conditions say nothing about them. */
  readonly left: readonly string[];
}

/** Returns what singles out a call; `undefined` if its arguments are too long. */
export function selectorOf({ input, principal }: PolicyRequest): CallSelector | undefined {
  const caller = principal === undefined ? {} : { "principal/id": principal.id };
  if (JSON.stringify(input).length <= MAX_INPUT_CHARS) return { values: { "": input, ...caller }, left: [] };
  if (!isJsonObject(input)) return undefined;
  const values: Record<string, JsonValue> = {};
  const left: string[] = [];
  let room = MAX_INPUT_CHARS;
  for (const [name, value = null] of Object.entries(input)) {
    const { length } = JSON.stringify(value);
    const key = `/${escapePointer(name)}`;
    // A `*` would stand for every item.
    if (length > MAX_MEMBER_CHARS || length > room || name === "*") left.push(key);
    else {
      values[key] = value;
      room -= length;
    }
  }
  return Object.keys(values).length === 0 ? undefined : { values: { ...values, ...caller }, left };
}

/** The conditions of a rule for the call. */
export function conditionsOf({ values }: CallSelector): RuleConditions {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, { equals: value }]),
  ) as RuleConditions;
}

/** Adds to the conditions of a rule that a call is another one than this one. */
export function exceptCall(when: RuleConditions | undefined, { values }: CallSelector): RuleConditions {
  const others = Object.entries(values).map(
    ([key, value]) => [key, { not: { equals: value } }] as const satisfies readonly [string, RuleCondition],
  );
  const [only, ...more] = others;
  if (only !== undefined && more.length === 0 && when?.[only[0] as ""] === undefined)
    return { ...when, [only[0]]: only[1] } as RuleConditions;
  const any = others.map(([key, condition]) => ({ [key]: condition })) as readonly RuleConditions[];
  if (when?.any === undefined) return { ...when, any };
  return { ...when, all: [...(when.all ?? []), { any }] };
}
