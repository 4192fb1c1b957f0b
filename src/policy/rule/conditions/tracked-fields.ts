import {
  type FieldSource,
  fieldKey,
  type ToolField,
  type TrackedFields,
  type ValueSource,
} from "../../call-history.ts";
import type { RuleCondition, RuleConditions } from "../rule.ts";

/** A source or field that a condition names, with its path from the conditions. */
export interface NamedField {
  readonly path: readonly string[];
  readonly field: "user" | FieldSource;
  /** Whether values may come from it. Otherwise texts must not contain its values. */
  readonly isSource: boolean;
}

/** Returns the sources of values that conditions name, and the fields whose values texts must not contain. */
export function namedFields({ all = [], any = [], ...entries }: RuleConditions = {}): NamedField[] {
  return [
    ...Object.entries(entries).flatMap(([key, condition]) => under([key], fieldsOf(condition))),
    ...all.flatMap((nested, index) => under(["all", String(index)], namedFields(nested))),
    ...any.flatMap((nested, index) => under(["any", String(index)], namedFields(nested))),
  ];
}

function fieldsOf(condition: RuleCondition): NamedField[] {
  if ("from" in condition) {
    const { from } = condition;
    return under(["from"], "tool" in from ? [{ path: [], field: from, isSource: true }] : listed(from, true));
  }
  if ("links" in condition) return under(["links", "from"], listed(condition.links.from, true));
  if ("without" in condition) return under(["without"], listed(condition.without, false));
  if ("not" in condition) return under(["not"], fieldsOf(condition.not));
  const [name, parts] =
    "all" in condition ? ["all", condition.all] : ["any", "any" in condition ? condition.any : []];
  return (parts as readonly RuleCondition[]).flatMap((part, index) =>
    under([String(name), String(index)], fieldsOf(part)),
  );
}

function listed(fields: readonly ValueSource[], isSource: boolean): NamedField[] {
  return fields.map((field, index) => ({ path: [String(index)], field, isSource }));
}

function under(steps: readonly string[], fields: readonly NamedField[]): NamedField[] {
  return fields.map((each) => ({ ...each, path: [...steps, ...each.path] }));
}

/** Returns what a session must remember for these conditions; `undefined` if they depend on no provenance. */
export function trackedFieldsOf(conditions: readonly RuleConditions[]): TrackedFields | undefined {
  const named = conditions.flatMap((each) => namedFields(each));
  if (named.length === 0) return undefined;
  const sources = named.flatMap(({ field, isSource }) => (isSource && field !== "user" ? field : []));
  const contents = named.flatMap(({ field, isSource }) => (isSource ? [] : (field as ToolField)));
  return Object.freeze({ sources: distinct(sources), contents: distinct(contents) });
}

function distinct<Field extends FieldSource>(fields: readonly Field[]): readonly Field[] {
  return Object.freeze([...new Map(fields.map((field) => [fieldKey(field), field])).values()]);
}
