import { lookUp, POINTER_PATTERN, parsePointer } from "../../../json/pointer.ts";
import { isJsonObject, type JsonValue } from "../../../json/value.ts";
import type { RowField, ValueReference, ValueSource } from "../../call-history.ts";
import { overlaps, type Spellings } from "../../match/spellings.ts";
import type { PolicyRequest } from "../../policy.ts";
import type { ConstantCondition, GlobSegments, ReferringCondition, RuleCondition } from "../rule.ts";

/** The parts of a call to which references lead. */
type ReferredCall = Pick<PolicyRequest, "input" | "principal"> & {
  readonly spelled?: Spellings | undefined;
};

type Compound = Extract<RuleCondition, { not: unknown } | { all: unknown } | { any: unknown }>;

const POINTER = new RegExp(POINTER_PATTERN);

/** Whether a value of a condition stands for another value of the call. */
export function isReference(value: unknown): value is ValueReference {
  if (!isJsonObject(value as JsonValue)) return false;
  const [[root, pointer] = [], ...others] = Object.entries(value as object);
  if (others.length > 0 || (root !== "argument" && root !== "principal")) return false;
  return typeof pointer === "string" && pointer !== "" && POINTER.test(pointer);
}

/** How a reference is named for operators, as a key of `when` is: `/owner`, `principal/attributes/tenant`. */
export function referenceName(reference: ValueReference): string {
  return "argument" in reference ? reference.argument : `principal${reference.principal}`;
}

/** Returns a condition unless it refers to other values of the call; its parts may do so. */
export function unlessReferring(condition: RuleCondition): ConstantCondition | Compound | undefined {
  return ownReferences(condition).length > 0 ? undefined : (condition as ConstantCondition | Compound);
}

/** A reference in a condition, with its path from there. */
interface PlacedReference {
  readonly path: readonly (string | number)[];
  readonly reference: ValueReference;
}

/** Returns the references of a condition, and those of its parts. */
export function referencesOf(condition: RuleCondition): readonly PlacedReference[] {
  const under = (steps: readonly (string | number)[], part: RuleCondition): readonly PlacedReference[] =>
    referencesOf(part).map(({ path, reference }) => ({ path: [...steps, ...path], reference }));
  if ("not" in condition) return under(["not"], condition.not);
  if ("all" in condition) return condition.all.flatMap((part, index) => under(["all", index], part));
  if ("any" in condition) return condition.any.flatMap((part, index) => under(["any", index], part));
  return "from" in condition ? rowReferences(condition.from) : ownReferences(condition);
}

function rowReferences(from: readonly ValueSource[] | RowField): readonly PlacedReference[] {
  const inSource = (source: ValueSource, path: PlacedReference["path"]): readonly PlacedReference[] =>
    typeof source === "object" && "row" in source
      ? Object.entries(source.row).flatMap(([key, value]) => referencesAt([...path, "row", key], value))
      : [];
  if ("tool" in from) return inSource(from, ["from"]);
  return from.flatMap((source, index) => inSource(source, ["from", index]));
}

function ownReferences(condition: RuleCondition): readonly PlacedReference[] {
  if ("equals" in condition) return referencesAt(["equals"], condition.equals);
  if ("oneOf" in condition) return inList(["oneOf"], condition.oneOf);
  if ("prefix" in condition) return referencesAt(["prefix"], condition.prefix);
  if ("range" in condition)
    return Object.entries(condition.range).flatMap(([name, bound]) => referencesAt(["range", name], bound));
  if (!("glob" in condition)) return [];
  const { glob } = condition;
  if (typeof glob === "string") return [];
  if ("segments" in glob) return inList(["glob", "segments"], glob.segments);
  return glob.flatMap((each, index) =>
    typeof each === "string" ? [] : inList(["glob", index, "segments"], each.segments),
  );
}

function inList(path: PlacedReference["path"], list: unknown): readonly PlacedReference[] {
  if (!Array.isArray(list)) return referencesAt(path, list);
  return list.flatMap((item, index) => referencesAt([...path, index], item));
}

function referencesAt(path: PlacedReference["path"], value: unknown): readonly PlacedReference[] {
  return isReference(value) ? [{ path, reference: value }] : [];
}

/**
 * Returns what each reference stands for in a call: `undefined` if it is unset. A declared path or URL stands for all of
 * its spellings, of which the first is the one that is written.
 */
export type ReadReference = (call: ReferredCall) => readonly JsonValue[] | undefined;

export function compileReference(reference: ValueReference): ReadReference {
  const steps = stepsOf(reference);
  if ("principal" in reference)
    return ({ principal }) => {
      const value = principal === undefined ? null : lookUp(principal as unknown as JsonValue, steps);
      return typeof value === "symbol" || value === null ? undefined : [value];
    };
  return ({ input, spelled }) => {
    const value = lookUp(input, steps);
    if (typeof value === "symbol" || value === null) return undefined;
    if (spelled?.declared.some((declared) => overlaps(declared, steps)) !== true) return [value];
    // As with constants, an absolute path is compared with absolute paths.
    const isAbsolute = typeof value === "string" && value.startsWith("/");
    const others = spelled.inputs.map((other) => lookUp(isAbsolute ? other.absolute : other.relative, steps));
    return [value, ...(others as JsonValue[])];
  };
}

/** The steps to what a reference stands for. `*` is the name of a member. */
export function stepsOf(reference: ValueReference): readonly string[] {
  return parsePointer("argument" in reference ? reference.argument : reference.principal);
}

/**
 * Returns the condition with values in place of its references; `undefined` if one does not have the type that is required.
 *
 * @param value The value that is compared. Default: it is missing, or is none.
 */
export function withValues(
  condition: ReferringCondition,
  resolve: (reference: ValueReference) => JsonValue,
  value?: JsonValue,
): ConstantCondition | undefined {
  const own = (item: unknown): JsonValue => (isReference(item) ? resolve(item) : (item as JsonValue));
  if ("equals" in condition) {
    const equals = own(condition.equals);
    return isComparable(equals, value) ? { equals } : undefined;
  }
  if ("oneOf" in condition) {
    const list = own(condition.oneOf);
    if (!Array.isArray(list)) return undefined;
    const oneOf = list.map((item, index) =>
      list === condition.oneOf ? own(item) : (list[index] as JsonValue),
    );
    const isTyped = oneOf.every(
      (item, index) => (list === condition.oneOf && !isReference(list[index])) || isComparable(item, value),
    );
    return isTyped ? { oneOf } : undefined;
  }
  if ("prefix" in condition) {
    const prefix = own(condition.prefix);
    return typeof prefix === "string" && prefix !== "" ? { prefix } : undefined;
  }
  if ("range" in condition) {
    const bounds = Object.entries(condition.range).map(([name, bound]) => [name, own(bound)] as const);
    if (!bounds.every(([, bound]) => typeof bound === "number")) return undefined;
    return { range: Object.fromEntries(bounds) };
  }
  const globs = [condition.glob].flat() as readonly (string | GlobSegments)[];
  const texts = globs.map((glob) => (typeof glob === "string" ? glob : joined(glob, own)));
  return texts.every((text) => text !== undefined) ? { glob: texts } : undefined;
}

/** Whether a value that a reference stands for has the type of the value that is compared with it. */
function isComparable(other: JsonValue, value: JsonValue | undefined): boolean {
  return value === undefined || typeNameOf(other) === typeNameOf(value);
}

function typeNameOf(value: JsonValue): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/** What is not one name, or means something in a glob. */
const NO_NAME = /^\.{0,2}$|[/\\*?[\]{}()|!]/;

/** Joins the segments of a glob; `undefined` if a value is not one name. */
function joined(
  { segments }: GlobSegments,
  own: (item: string | ValueReference) => JsonValue,
): string | undefined {
  const parts = segments.map((segment) => {
    if (typeof segment === "string") return segment;
    const value = own(segment);
    return typeof value === "string" && !NO_NAME.test(value) ? value : undefined;
  });
  return parts.includes(undefined) ? undefined : parts.join("/");
}
