import { suggest } from "../../base/unknown-names.ts";
import type { ConfigPath } from "../../config/source.ts";
import { LIST_INDEX, parsePointer } from "../../json/pointer.ts";
import { isJsonObject, type JsonObject } from "../../json/value.ts";
import { rowKeys } from "../call-history.ts";
import { canBe, type PossibleValues, valuesAt, valuesOf } from "../possible/possible-values.ts";
import { namedFields } from "../rule/conditions/tracked-fields.ts";
import type { PolicyRule, UntrustedResult } from "../rule/rule.ts";
import type { PolicyTool } from "./checked-rule.ts";
import { unregistered } from "./name-checks.ts";

/** A field of results that no result has. */
export interface UnknownField {
  readonly path: ConfigPath;
  readonly message: string;
}

/** Finds sources and fields of a rule's conditions that no result can have. */
export function fieldProblems(
  { when }: Pick<PolicyRule, "when">,
  tools: readonly PolicyTool[],
  canRun: (tool: PolicyTool) => boolean,
): readonly UnknownField[] {
  return namedFields(when).flatMap(({ path, field }): readonly UnknownField[] => {
    if (field === "user") return [];
    const [key, name] = "lookup" in field ? ["lookup", field.lookup] : ["tool", field.tool];
    const place = ["when", ...path];
    const tool = tools.find((each) => each.name === name);
    if (tool === undefined) return [{ path: [...place, key], message: unregistered(name, namesOf(tools)) }];
    if (!canRun(tool)) {
      const message = `no rule allows calls of '${name}', so there are no results with this field: allow them, or remove this`;
      return [{ path: [...place, key], message }];
    }
    const rows = "row" in field ? rowKeys(field).map((key) => [[...place, "row", key], key] as const) : [];
    return [[[...place, "field"], field.field] as const, ...rows].flatMap(([at, pointer]) => {
      const message = whyNoValue(tool, pointer);
      return message === undefined ? [] : [{ path: at, message }];
    });
  });
}

/** Finds results that outsiders can write, as the policy says, and that no tool has. */
export function untrustedProblems(
  untrusted: readonly UntrustedResult[],
  tools: readonly PolicyTool[],
): readonly UnknownField[] {
  const whole = new Set(untrusted.flatMap(({ tool, fields }) => (fields === undefined ? [tool] : [])));
  const seen = new Set<string>();
  return untrusted.flatMap(({ tool: name, fields }, index): readonly UnknownField[] => {
    const place = ["untrusted", index];
    const tool = tools.find((each) => each.name === name);
    if (tool === undefined)
      return [{ path: [...place, "tool"], message: unregistered(name, namesOf(tools)) }];
    const isAgain = seen.has(name);
    if (fields === undefined) {
      seen.add(name);
      return isAgain
        ? [{ path: place, message: `all results of '${name}' are listed before: remove this` }]
        : [];
    }
    if (whole.has(name)) {
      return [
        {
          path: [...place, "fields"],
          message: `all results of '${name}' are listed, too: remove these fields`,
        },
      ];
    }
    return fields.flatMap((field, at): readonly UnknownField[] => {
      const message = whyNoField(tool, field);
      return message === undefined ? [] : [{ path: [...place, "fields", at], message }];
    });
  });
}

function namesOf(tools: readonly PolicyTool[]): readonly string[] {
  return tools.map(({ name }) => name);
}

/** Why no result has a text or number in a field; `undefined` if some may. */
function whyNoValue(tool: PolicyTool, field: string): string | undefined {
  const missing = whyNoField(tool, field);
  if (missing !== undefined || tool.outputSchema === undefined) return missing;
  const values = flattened(tool.outputSchema, placesOf(tool.outputSchema, parsePointer(field)));
  if (canBe(values, "string", "number")) return undefined;
  return `'${field}' in the results of '${tool.name}' is never a text, a number or a list of them, so that no value comes from it: name a field in it`;
}

/** Why no result has a field; `undefined` if some may, or if the tool does not say what its results are. */
function whyNoField({ name, outputSchema }: PolicyTool, field: string): string | undefined {
  if (outputSchema === undefined) return undefined;
  const steps = parsePointer(field);
  const namesAt = (index: number): readonly string[] =>
    placesOf(outputSchema, steps.slice(0, index)).flatMap((schemas) =>
      schemas.flatMap(({ properties }) => (isJsonObject(properties) ? Object.keys(properties) : [])),
    );
  // A schema that lists members but allows others is unlikely to mean one that is spelled nearly as one of them.
  const [meant] = steps.flatMap((step, index) => {
    const names = namesAt(index);
    return names.includes(step) ? [] : (suggest(step, names) ?? []);
  });
  if (placesOf(outputSchema, steps).length > 0 && meant === undefined) return undefined;
  return `the results of '${name}' have no '${field}'${meant === undefined ? "" : `: did you mean '${meant}'?`}`;
}

/** Follows a field as it is followed in a result: a list on the way stands for each of its elements. */
function placesOf(root: JsonObject, steps: readonly string[]): PossibleValues {
  return steps.reduce((values: PossibleValues, step) => {
    if (step === "*") {
      const members = canBe(values, "object") ? membersOf(root, values) : [];
      return [...valuesAt(root, values, "*"), ...members];
    }
    const own = valuesAt(root, values, step);
    return LIST_INDEX.test(step) ? own : [...own, ...valuesAt(root, elementsOf(root, values), step)];
  }, valuesOf(root));
}

const MAX_DEPTH = 8;

/** Returns the values of the elements of lists, and of lists in them. */
function elementsOf(root: JsonObject, values: PossibleValues, depth = 0): PossibleValues {
  const elements = valuesAt(root, values, "*");
  return elements.length === 0 || depth > MAX_DEPTH
    ? elements
    : [...elements, ...elementsOf(root, elements, depth + 1)];
}

function flattened(root: JsonObject, values: PossibleValues): PossibleValues {
  return [...values, ...elementsOf(root, values)];
}

/** Returns the values of all members of objects. */
function membersOf(root: JsonObject, values: PossibleValues): PossibleValues {
  return values.flatMap((schemas) => {
    const names = schemas.flatMap(({ properties }) =>
      isJsonObject(properties) ? Object.keys(properties) : [],
    );
    // A name that no schema lists stands for all others.
    return [...names, "\u0000"].flatMap((name) => [...valuesAt(root, [schemas], name)]);
  });
}
