import { NAMESPACE } from "./cedar-schema.ts";

/** The names in a policy that Cedar does not compare with the schema, so that a misspelt one would just never match. */
export interface CedarNames {
  /** The ids of tools. */
  readonly tools: readonly string[];
  /** The tags that `resource.tags` is tested for. */
  readonly tags: readonly string[];
  /** The ids of roles. */
  readonly roles: readonly string[];
}

/** Returns the names in a policy, in Cedar's JSON format for policies. */
export function namesIn(policy: object): CedarNames {
  const names = { tools: [], tags: [], roles: [] };
  visit(policy, names);
  return names;
}

interface Names {
  readonly tools: string[];
  readonly tags: string[];
  readonly roles: string[];
}

function visit(node: unknown, names: Names): void {
  if (typeof node !== "object" || node === null) return;
  const { type, id, ...operators } = node as { readonly [name: string]: unknown };
  if (typeof id === "string") {
    if (type === `${NAMESPACE}::Tool`) names.tools.push(id);
    if (type === `${NAMESPACE}::Role`) names.roles.push(id);
    return;
  }
  for (const operator of ["contains", "containsAny", "containsAll"]) {
    const { left, right } = (operators[operator] ?? {}) as { readonly left?: unknown; right?: unknown };
    if (isTags(left)) names.tags.push(...textsIn(right));
  }
  for (const part of Object.values(node)) visit(part, names);
}

/** Whether an expression is `resource.tags`. */
function isTags(expression: unknown): boolean {
  const { ".": get } = (expression ?? {}) as {
    readonly "."?: { readonly left?: { readonly Var?: unknown }; readonly attr?: unknown };
  };
  return get?.left?.Var === "resource" && get.attr === "tags";
}

/** Returns a literal text, or those of a set. */
function textsIn(expression: unknown): readonly string[] {
  const { Value, Set: set } = (expression ?? {}) as { readonly Value?: unknown; readonly Set?: unknown };
  if (typeof Value === "string") return [Value];
  return Array.isArray(set) ? set.flatMap(textsIn) : [];
}
