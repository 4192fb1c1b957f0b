import type { WasmImplementation } from "../../../../tool/implementations/implementations.ts";
import { ExportedFunctions } from "../../linking/exported-functions.ts";
import type { ComponentFunction } from "../../linking/link-plan.ts";
import type { Case, FunctionType, NamedType, ResourceType, ValueType } from "../../linking/value-type.ts";

type Functions = ReadonlyMap<string, ComponentFunction>;

/**
 * Returns exported functions with the types that they have as tools of an engine.
 *
 * @throws {ToolPreparationError} if the types are too large.
 */
export function exportsFor(engine: WasmImplementation["engine"], exports: Functions): Functions {
  return engine === "jco" ? functionsWithMadeResources(exports) : exports;
}

/**
 * Returns exported functions with types that can be written as JSON where they take resources. No resource outlives its
 * call, so an argument says how the resource is made: it is a variant of the functions of the same interface that return
 * one, with their arguments, such as `{ "tag": "[constructor]counter", "val": { "start": 3 } }`.
 *
 * @throws {ToolPreparationError} if the types are too large. What makes a resource is written out wherever it is taken.
 */
export function functionsWithMadeResources(exports: Functions): Functions {
  const interfaces = new Map<string, Makers>();
  const functions = new ExportedFunctions();
  for (const [name, exported] of exports) {
    const interfaceName = interfaceOf(name);
    const makers = interfaces.get(interfaceName) ?? makersIn(exports, interfaceName);
    interfaces.set(interfaceName, makers);
    const params = exported.type.params.map((param) => ({ ...param, type: madeType(param.type, makers) }));
    functions.add(name, { ...exported, type: { ...exported.type, params } });
  }
  return functions.byName;
}

type Makers = ReadonlyMap<ResourceType, readonly Case[]>;

/**
 * The functions of an interface that return a resource and have no resource as a parameter, by resource, as
 * cases with their parameters.
 */
function makersIn(exports: Functions, interfaceName: string): Makers {
  const makers = new Map<ResourceType, Case[]>();
  for (const [name, { type }] of exports) {
    const resource = madeBy(type);
    if (interfaceOf(name) !== interfaceName || resource === undefined || takesResource(type)) continue;
    const { params } = type;
    const fields: ValueType | undefined =
      params.length === 0 ? undefined : { kind: "record", fields: params };
    makers.set(resource, [...(makers.get(resource) ?? []), { name: memberOf(name), type: fields }]);
  }
  return makers;
}

/** Returns the resource that a function returns, alone or as `ok`. */
function madeBy({ result, isAsync }: FunctionType): ResourceType | undefined {
  const made = result?.kind === "result" ? result.ok : result;
  return !isAsync && made?.kind === "own" ? made.resource : undefined;
}

function takesResource({ params }: FunctionType): boolean {
  let takes = false;
  for (const { type } of params) {
    changedType(type, (resource) => {
      takes = true;
      return resource;
    });
  }
  return takes;
}

function madeType(type: ValueType, makers: Makers): ValueType {
  return changedType(type, (taken) => {
    const cases = makers.get(taken.resource);
    return cases === undefined ? taken : { kind: "variant", cases };
  });
}

type ResourceValue = Extract<ValueType, { readonly kind: "own" | "borrow" }>;

/** Returns a type with its resources replaced, at any depth. */
function changedType(type: ValueType, change: (type: ResourceValue) => ValueType): ValueType {
  const inner = (of: ValueType): ValueType => changedType(of, change);
  const optional = (of: ValueType | undefined): ValueType | undefined => of && inner(of);
  const named = (of: NamedType): NamedType => ({ ...of, type: inner(of.type) });
  switch (type.kind) {
    case "own":
    case "borrow":
      return change(type);
    case "list":
      return { ...type, element: inner(type.element) };
    case "record":
      return { ...type, fields: type.fields.map(named) };
    case "tuple":
      return { ...type, items: type.items.map(inner) };
    case "variant":
      return { ...type, cases: type.cases.map((each) => ({ ...each, type: optional(each.type) })) };
    case "option":
      return { ...type, some: inner(type.some) };
    case "result":
      return { ...type, ok: optional(type.ok), err: optional(type.err) };
    default:
      return type;
  }
}

function interfaceOf(name: string): string {
  return name.slice(0, name.lastIndexOf("#") + 1);
}

function memberOf(name: string): string {
  return name.slice(name.lastIndexOf("#") + 1);
}
