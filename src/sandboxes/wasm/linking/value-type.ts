/** A type of the component model (`Explainer.md`, type definitions), with all references resolved. */
export type ValueType =
  | { readonly kind: PrimitiveKind }
  | { readonly kind: "list"; readonly element: ValueType }
  | { readonly kind: "record"; readonly fields: readonly NamedType[] }
  | { readonly kind: "tuple"; readonly items: readonly ValueType[] }
  | { readonly kind: "variant"; readonly cases: readonly Case[] }
  | { readonly kind: "enum"; readonly names: readonly string[] }
  | { readonly kind: "flags"; readonly names: readonly string[] }
  | { readonly kind: "option"; readonly some: ValueType }
  | { readonly kind: "result"; readonly ok: ValueType | undefined; readonly err: ValueType | undefined }
  | { readonly kind: "own" | "borrow"; readonly resource: ResourceType }
  /** A type whose values cannot be passed. `what` is its name. */
  | { readonly kind: "unsupported"; readonly what: string };

/** The types that do not contain other types. */
export type PrimitiveKind =
  | "bool"
  | "s8"
  | "u8"
  | "s16"
  | "u16"
  | "s32"
  | "u32"
  | "s64"
  | "u64"
  | "f32"
  | "f64"
  | "char"
  | "string";

/** A field of a record, or a parameter. */
export interface NamedType {
  readonly name: string;
  readonly type: ValueType;
}

/** A case of a variant. */
export interface Case {
  readonly name: string;
  /** The type of its payload, if it has one. */
  readonly type: ValueType | undefined;
}

/** A resource type. The object is its identity: two types with the same name are different types. */
export interface ResourceType {
  /** The declared name, for messages. */
  readonly name: string;
  /** The index of the component instance that defines it; `undefined` for resources of the host. */
  readonly definedBy: number | undefined;
}

/** The type of a function. */
export interface FunctionType {
  readonly params: readonly NamedType[];
  readonly result: ValueType | undefined;
  readonly isAsync: boolean;
}

/** Returns the payload types of a type with cases; `undefined` for a case without payload, and for other types. */
export function casesOf(type: ValueType): readonly (ValueType | undefined)[] | undefined {
  switch (type.kind) {
    case "variant":
      return type.cases.map((each) => each.type);
    case "enum":
      return type.names.map(() => undefined);
    case "option":
      return [undefined, type.some];
    case "result":
      return [type.ok, type.err];
    default:
      return undefined;
  }
}

/** Returns the field types of a record or a tuple; `undefined` for other types. */
export function fieldsOf(type: ValueType): readonly ValueType[] | undefined {
  if (type.kind === "record") return type.fields.map((field) => field.type);
  return type.kind === "tuple" ? type.items : undefined;
}

/** Returns a type in WIT syntax, with named types written out. */
export function typeText(type: ValueType): string {
  switch (type.kind) {
    case "list":
      return `list<${typeText(type.element)}>`;
    case "record":
      return `record { ${type.fields.map(({ name, type: of }) => `${name}: ${typeText(of)}`).join(", ")} }`;
    case "tuple":
      return `tuple<${type.items.map(typeText).join(", ")}>`;
    case "variant":
      return `variant { ${type.cases.map((each) => `${each.name}${each.type ? `(${typeText(each.type)})` : ""}`).join(", ")} }`;
    case "enum":
    case "flags":
      return `${type.kind} { ${type.names.join(", ")} }`;
    case "option":
      return `option<${typeText(type.some)}>`;
    case "result":
      return `result<${type.ok ? typeText(type.ok) : "_"}, ${type.err ? typeText(type.err) : "_"}>`;
    case "own":
    case "borrow":
      return `${type.kind}<${type.resource.name}>`;
    case "unsupported":
      return type.what;
    default:
      return type.kind;
  }
}

/** Returns a function's type in WIT syntax. */
export function functionText({ params, result, isAsync }: FunctionType): string {
  const taken = params.map(({ name, type }) => `${name}: ${typeText(type)}`).join(", ");
  return `${isAsync ? "async " : ""}func(${taken})${result ? ` -> ${typeText(result)}` : ""}`;
}
