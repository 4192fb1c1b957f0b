/** A type of the component model (`Explainer.md`, type definitions), with everything that it refers to in place. */
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
  /** Something that cannot cross a border here: `what` names it. */
  | { readonly kind: "unsupported"; readonly what: string };

/** The types that hold no others. */
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
  /** What it carries, if anything. */
  readonly type: ValueType | undefined;
}

/** A resource. The object is its identity: two with the same name are two. */
export interface ResourceType {
  /** As it was declared: for messages. */
  readonly name: string;
  /** The component instance that defines it, counted from 0; `undefined` for the host's own. */
  readonly definedBy: number | undefined;
}

/** The type of a function. */
export interface FunctionType {
  readonly params: readonly NamedType[];
  readonly result: ValueType | undefined;
  readonly isAsync: boolean;
}

/** The parts of a type that holds one of several things; `undefined` for a case that carries nothing. */
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

/** The parts of a type that holds several things at once. */
export function fieldsOf(type: ValueType): readonly ValueType[] | undefined {
  if (type.kind === "record") return type.fields.map((field) => field.type);
  return type.kind === "tuple" ? type.items : undefined;
}

/** Writes a type as WIT does, names of types apart. */
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

/** Writes a function's type as WIT does. */
export function functionText({ params, result, isAsync }: FunctionType): string {
  const taken = params.map(({ name, type }) => `${name}: ${typeText(type)}`).join(", ");
  return `${isAsync ? "async " : ""}func(${taken})${result ? ` -> ${typeText(result)}` : ""}`;
}
