import type { JsonObject, JsonValue } from "../../json/value.ts";
import type { Draft } from "../keywords.ts";
import { type TypeExpression, TypeExpressionError } from "./type-expression.ts";
import type { Meaning } from "./type-names.ts";

const ANY: JsonObject = Object.freeze({});

/** The meanings of type names, and the draft of the schema. */
export interface TypeContext {
  readonly names: ReadonlyMap<string, Meaning>;
  readonly draft: Draft;
}

/**
 * Returns the JSON Schema of a type expression.
 *
 * @throws {TypeExpressionError} if a name is unknown or does not take such arguments.
 */
export function typeSchema(expression: TypeExpression, context: TypeContext): JsonObject {
  const schemaOf = (inner: TypeExpression): JsonObject => typeSchema(inner, context);
  switch (expression.kind) {
    case "list":
      return { type: "array", items: schemaOf(expression.item) };
    case "map":
      return { type: "object", additionalProperties: schemaOf(expression.value) };
    case "tuple":
      return tupleSchema(expression.items, schemaOf, context.draft);
    case "union":
      return unionSchema(expression.options.map(schemaOf));
    case "literal":
      return { const: expression.value };
    case "rest":
      throw new TypeExpressionError("unexpected '...'");
    case "name": {
      const { name, args } = expression;
      const meaning = context.names.get(name.toLowerCase());
      if (meaning === undefined) throw new TypeExpressionError(`'${name.slice(0, 64)}' is not a known type`);
      if (meaning === "tuple") return tupleSchema(args, schemaOf, context.draft);
      return namedSchema(meaning, name, args, schemaOf);
    }
  }
}

function namedSchema(
  meaning: Exclude<Meaning, "tuple">,
  name: string,
  args: readonly TypeExpression[],
  schemaOf: (expression: TypeExpression) => JsonObject,
): JsonObject {
  const [first, second] = args;
  switch (meaning) {
    case "array":
      return first === undefined ? { type: "array" } : withItems(schemaOf(first));
    case "object": {
      const value = second ?? first;
      return value === undefined ? { type: "object" } : withValues(schemaOf(value));
    }
    case "literal":
    case "enum": {
      const values = args.map((arg): JsonValue => {
        if (arg.kind === "literal") return arg.value;
        if (meaning === "enum" && arg.kind === "name") return arg.name;
        throw new TypeExpressionError(`'${name}' takes literal values`);
      });
      if (values.length === 0) throw new TypeExpressionError(`'${name}' requires values`);
      return { enum: values };
    }
    case "optional":
      if (first === undefined) return ANY;
      return unionSchema([schemaOf(first), { type: "null" }]);
    case "union":
      if (args.length === 0) throw new TypeExpressionError(`'${name}' requires type arguments`);
      return unionSchema(args.map(schemaOf));
    case "wrapper":
      if (first === undefined) throw new TypeExpressionError(`'${name}' requires a type argument`);
      return schemaOf(first);
    case "any":
      return ANY;
    default:
      // The size in `varchar(20)` and `decimal(10, 2)` is dropped.
      if (args.some(({ kind }) => kind !== "literal")) {
        throw new TypeExpressionError(`'${name}' takes no type arguments`);
      }
      return { type: meaning };
  }
}

function withItems(items: JsonObject): JsonObject {
  return items === ANY ? { type: "array" } : { type: "array", items };
}

function withValues(values: JsonObject): JsonObject {
  return values === ANY ? { type: "object" } : { type: "object", additionalProperties: values };
}

/** `(int, str)` has two items; `(int, ...)` has any number of them. */
function tupleSchema(
  items: readonly TypeExpression[],
  schemaOf: (expression: TypeExpression) => JsonObject,
  draft: Draft,
): JsonObject {
  const isOpen = items.at(-1)?.kind === "rest";
  const schemas = (isOpen ? items.slice(0, -1) : items).map(schemaOf);
  if (isOpen && schemas.length === 1) return withItems(schemas[0] ?? ANY);
  if (schemas.length === 0) return { type: "array" };
  const { length } = schemas;
  const first = draft === "draft-07" ? { items: schemas } : { prefixItems: schemas };
  return { type: "array", ...first, minItems: length, ...(!isOpen && { maxItems: length }) };
}

/** Returns a schema that accepts what at least one of these accepts. */
export function unionSchema(options: readonly JsonObject[]): JsonObject {
  if (options.some((option) => Object.keys(option).length === 0)) return ANY;
  const types = options.flatMap(({ type }) => (type === undefined ? [] : [type].flat()));
  if (options.every((option) => Object.keys(option).length === 1 && option["type"] !== undefined)) {
    const [only, ...others] = new Set(types);
    return { type: others.length === 0 ? (only ?? "null") : [only ?? "null", ...others] };
  }
  const values = options.map((option) => option["const"]);
  if (values.every((value) => value !== undefined)) return { enum: values };
  return { anyOf: [...options] };
}
