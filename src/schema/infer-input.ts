import type { JsonObject, JsonValue } from "../json/value.ts";
import type { StandardInputSchema } from "./standard-schema.ts";

/**
 * The type of the arguments that an input schema accepts.
 *
 * - For a Standard Schema, its own input type.
 * - For a JSON Schema whose type is literal (`as const`, or written in the call of `defineTool`), the type that its
 *   `type`, `properties`, `required`, `additionalProperties`, `items`, `prefixItems`, `enum`, `const`, `anyOf`, `oneOf`
 *   and `allOf` describe. Other keywords are ignored, and references and levels below the tenth give `JsonValue`, the
 *   type of any argument.
 */
export type InferInput<Schema> = Schema extends StandardInputSchema
  ? NonNullable<Schema["~standard"]["types"]>["input"]
  : Value<Schema, Levels>;

/** One element for each level of schemas within schemas, so that the compiler always comes to an end. */
type Levels = readonly [1, 1, 1, 1, 1, 1, 1, 1, 1, 1];

/** The values that a schema accepts. */
type Value<Schema, Left extends readonly unknown[]> = OrJson<Known<Schema, Left>>;
type OrJson<Type> = unknown extends Type ? JsonValue : Type;

/** The type that a schema's keywords describe together; `unknown` if they describe none. */
type Known<Schema, Left extends readonly unknown[]> = Left extends readonly [unknown, ...infer Rest]
  ? Schema extends false
    ? never
    : Schema extends { readonly $ref: unknown }
      ? unknown
      : ByType<Schema, Rest> &
          ByLiterals<Schema> &
          AnyOf<Schema, "anyOf", Rest> &
          AnyOf<Schema, "oneOf", Rest> &
          AllOf<Schema, Rest>
  : unknown;

type ByType<Schema, Left extends readonly unknown[]> = Schema extends { readonly type: infer Type }
  ? OfType<Type extends readonly unknown[] ? Type[number] : Type, Schema, Left>
  : unknown;

/** Distributes over a list of types. */
type OfType<Type, Schema, Left extends readonly unknown[]> = Type extends "object"
  ? ObjectOf<Schema, Left>
  : Type extends "array"
    ? ListOf<Schema, Left>
    : Type extends "string"
      ? string
      : Type extends "number" | "integer"
        ? number
        : Type extends "boolean"
          ? boolean
          : Type extends "null"
            ? null
            : unknown;

type ByLiterals<Schema> = (Schema extends { readonly enum: readonly (infer Value)[] } ? Value : unknown) &
  (Schema extends { readonly const: infer Value } ? Value : unknown);

type AnyOf<Schema, Keyword extends string, Left extends readonly unknown[]> = Schema extends {
  readonly [K in Keyword]: readonly (infer Each)[];
}
  ? EachOf<Each, Left>
  : unknown;
type EachOf<Schema, Left extends readonly unknown[]> = Schema extends unknown ? Known<Schema, Left> : never;

type AllOf<Schema, Left extends readonly unknown[]> = Schema extends { readonly allOf: infer Parts }
  ? Every<Parts, Left>
  : unknown;
type Every<Parts, Left extends readonly unknown[]> = Parts extends readonly [infer First, ...infer Others]
  ? Known<First, Left> & Every<Others, Left>
  : unknown;

type ObjectOf<Schema, Left extends readonly unknown[]> = Schema extends
  | { readonly properties: unknown }
  | { readonly required: unknown }
  | { readonly additionalProperties: object }
  ? Flat<Members<Properties<Schema>, RequiredNames<Schema>, Left>> & Others<Schema, Left>
  : JsonObject;

type Properties<Schema> = Schema extends { readonly properties: infer Named } ? Named : unknown;

/** Names whose types are literal; a list of any strings gives no names. */
type RequiredNames<Schema> = Schema extends { readonly required: readonly (infer Name)[] }
  ? string extends Name
    ? never
    : Name
  : never;

type Members<Named, Required, Left extends readonly unknown[]> = {
  readonly [Name in keyof Named as Name extends Required ? Name : never]: Value<Named[Name], Left>;
} & {
  readonly [Name in keyof Named as Name extends Required ? never : Name]?: Value<Named[Name], Left>;
} & {
  readonly [Name in Exclude<Required, keyof Named> & string]: JsonValue;
};
type Flat<Type> = { [Name in keyof Type]: Type[Name] };

/** Members that have no schema are left out of the type, so that misspelt names do not compile. */
type Others<Schema, Left extends readonly unknown[]> = Schema extends {
  readonly additionalProperties: infer Other;
}
  ? Other extends boolean
    ? unknown
    : {
        readonly [name: string]: Schema extends { readonly patternProperties: unknown }
          ? JsonValue
          : Value<Other, Left>;
      }
  : unknown;

type ListOf<Schema, Left extends readonly unknown[]> = Schema extends {
  readonly prefixItems: infer First extends readonly unknown[];
}
  ? number extends First["length"]
    ? readonly JsonValue[]
    : readonly [...Prefix<Schema, First, Left>, ...Rest<Schema, Left>]
  : Rest<Schema, Left>;

/** The items with schemas of their own. They may be missing, unless `minItems` is their number. */
type Prefix<Schema, First extends readonly unknown[], Left extends readonly unknown[]> = Schema extends {
  readonly minItems: First["length"];
}
  ? Items<First, Left>
  : Partial<Items<First, Left>>;
type Items<First extends readonly unknown[], Left extends readonly unknown[]> = {
  [Index in keyof First]: Value<First[Index], Left>;
};

type Rest<Schema, Left extends readonly unknown[]> = Schema extends { readonly items: infer Item }
  ? Item extends false
    ? readonly []
    : Item extends readonly unknown[]
      ? readonly JsonValue[]
      : readonly Value<Item, Left>[]
  : readonly JsonValue[];
