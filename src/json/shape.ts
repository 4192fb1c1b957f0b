import type { ValidateFunction } from "ajv";
import { loadAjv } from "../base/load-ajv.ts";
import type { JsonObject, JsonValue } from "./value.ts";

declare const TYPE: unique symbol;

/**
 * A JSON Schema (draft 2020-12) with the TypeScript type of its values, so that a body is written once: the server checks with
 * the schema, `docs/openapi.yaml` is generated from it, and {@link TypeOf} is what both sides compile against.
 *
 * Plain schemas in a few functions instead of TypeBox, Zod or Valibot: Ajv, which Sandgate needs for tools anyway, checks them
 * and words the errors, and the package gets no further dependency.
 */
export type Shape<Type> = JsonObject & { readonly [TYPE]: Type };

/** The type of a shape's values. */
export type TypeOf<Of> = Of extends { readonly [TYPE]: infer Type } ? Type : never;

/** A member that may be absent. */
export interface OptionalMember<Type> {
  readonly optional: Shape<Type>;
}

type Members = Readonly<Record<string, Shape<unknown> | OptionalMember<unknown>>>;

type OptionalKey<Of extends Members> = {
  [Key in keyof Of]: Of[Key] extends OptionalMember<unknown> ? Key : never;
}[keyof Of];

/** One object instead of an intersection, which is what editors and errors of the compiler show. */
export type Flat<Of> = { [Key in keyof Of]: Of[Key] };

/** The type of an object with these members. */
export type ObjectOf<Of extends Members> = Flat<
  {
    readonly [Key in Exclude<keyof Of, OptionalKey<Of>>]: TypeOf<Of[Key]>;
  } & {
    readonly [Key in OptionalKey<Of>]?: Of[Key] extends OptionalMember<infer Type> ? Type : never;
  }
>;

/** What the schema says about a value: units, defaults and what it means. */
interface Described {
  readonly description?: string;
}

interface TextBounds extends Described {
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
}

interface NumberBounds extends Described {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly default?: number;
}

function shape<Type>(schema: object): Shape<Type> {
  return schema as Shape<Type>;
}

/** A text. */
export function string(bounds: TextBounds = {}): Shape<string> {
  return shape({ type: "string", ...bounds });
}

/** A number. */
export function number(bounds: NumberBounds = {}): Shape<number> {
  return shape({ type: "number", ...bounds });
}

/** A whole number. */
export function integer(bounds: NumberBounds = {}): Shape<number> {
  return shape({ type: "integer", ...bounds });
}

/** `true` or `false`. */
export function boolean(described: Described = {}): Shape<boolean> {
  return shape({ type: "boolean", ...described });
}

/** One of some values. */
export function oneOf<const Value extends string | null>(
  values: readonly Value[],
  described: Described & { readonly default?: Value } = {},
): Shape<Value> {
  return shape({ enum: [...values], ...described });
}

/** Always the same value. */
export function constant<const Value extends string | boolean | null>(
  value: Value,
  described: Described = {},
): Shape<Value> {
  return shape({ const: value, ...described });
}

/** Any JSON value. */
export function anyJson(described: Described = {}): Shape<JsonValue> {
  return shape({ ...described });
}

/** An object with any members. */
export function anyObject(described: Described = {}): Shape<JsonObject> {
  return shape({ type: "object", ...described });
}

/** A list of any length, or at most so long. */
export function list<Item>(
  items: Shape<Item>,
  bounds: Described & { readonly maxItems?: number } = {},
): Shape<readonly Item[]> {
  return shape({ type: "array", items, ...bounds });
}

/** An object whose members all have the same shape, under any names. */
export function record<Value>(
  values: Shape<Value>,
  bounds: Described & { readonly maxProperties?: number } = {},
): Shape<Readonly<Record<string, Value>>> {
  return shape({ type: "object", additionalProperties: values, ...bounds });
}

/** A value of one of several shapes. */
export function anyOf<const Of extends readonly Shape<unknown>[]>(
  shapes: Of,
  described: Described = {},
): Shape<TypeOf<Of[number]>> {
  return shape({ anyOf: shapes, ...described });
}

/** An object with exactly these members. */
export function object<const Of extends Members>(
  members: Of,
  described: Described = {},
): Shape<ObjectOf<Of>> {
  return shape({ ...open(members), additionalProperties: false, ...described });
}

/** An object with these members, and perhaps others. */
export function openObject<const Of extends Members>(
  members: Of,
  described: Described = {},
): Shape<ObjectOf<Of> & JsonObject> {
  return shape({ ...open(members), ...described });
}

/** Marks a member that may be absent. */
export function optional<Type>(of: Shape<Type>): OptionalMember<Type> {
  return { optional: of };
}

/** The same members, all of which may be absent. */
export function optionals<Of extends Readonly<Record<string, Shape<unknown>>>>(
  members: Of,
): { readonly [Key in keyof Of]: OptionalMember<TypeOf<Of[Key]>> } {
  const entries = Object.entries(members).map(([name, of]) => [name, optional(of)]);
  return Object.fromEntries(entries) as { readonly [Key in keyof Of]: OptionalMember<TypeOf<Of[Key]>> };
}

/** A shape with words of its own about the place where it is used. */
export function described<Type>(of: Shape<Type>, description: string): Shape<Type> {
  return shape({ allOf: [of], description });
}

/** A shape whose values have a narrower type than a schema can say. */
export function typed<Type>(of: JsonObject): Shape<Type> {
  return of as Shape<Type>;
}

function open(members: Members): object {
  const entries = Object.entries(members);
  const isOptional = (member: Shape<unknown> | OptionalMember<unknown>): member is OptionalMember<unknown> =>
    Object.keys(member).length === 1 && "optional" in member;
  return {
    type: "object",
    properties: Object.fromEntries(
      entries.map(([name, member]) => [name, isOptional(member) ? member.optional : member]),
    ),
    required: entries.flatMap(([name, member]) => (isOptional(member) ? [] : [name])),
  };
}

const checks = new WeakMap<object, BodyCheck>();

/** Returns the first problem of a value, such as `/call/id must be string`; `undefined` if it has the shape. */
export function problemIn(of: Shape<unknown>, value: JsonValue): string | undefined {
  let check = checks.get(of);
  if (check === undefined) {
    check = new BodyCheck(of);
    checks.set(of, check);
  }
  return check.problem(value);
}

/** Checks bodies against a JSON Schema (draft 2020-12), which is compiled when it is first used. */
class BodyCheck {
  readonly #schema: JsonObject;
  #validate: ValidateFunction | undefined;

  constructor(schema: JsonObject) {
    this.#schema = schema;
  }

  /** Returns the first problem of a value, such as `/call/id must be string`; `undefined` if it has the shape. */
  problem(value: JsonValue): string | undefined {
    // Ajv stops at the first error here, which bounds the work for bodies with many of them.
    this.#validate ??= new (loadAjv().Ajv2020)({ ownProperties: true, strictTypes: false }).compile(
      this.#schema,
    );
    if (this.#validate(value)) return undefined;
    const [error] = this.#validate.errors ?? [];
    if (error === undefined) return "does not match the schema";
    const { instancePath, message, params } = error;
    const unknown: unknown = params["additionalProperty"] ?? params["propertyName"];
    if (unknown !== undefined) return `${instancePath || "/"} has an unknown member`;
    return `${instancePath || "/"} ${message ?? "does not match the schema"}`;
  }
}
