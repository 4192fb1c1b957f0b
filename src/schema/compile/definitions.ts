import type { JsonValue } from "../../json/value.ts";
import type { DynamicScope, References, Target } from "./references.ts";

/** The name of the root definition. */
export const ROOT = "root";

/** The root, or the target of a reference. */
export interface Definition extends Target {
  readonly name: string;
  readonly scope: DynamicScope;
}

/** The schemas that are lowered separately: the root and the targets of references. */
export class Definitions {
  readonly #references: References;
  readonly #list: Definition[] = [];
  /** The names by schema and by the key of its scope. */
  readonly #names = new Map<JsonValue, Map<string, string>>();

  constructor(references: References) {
    this.#references = references;
  }

  /** In the order in which they were named. The list grows while it is iterated. */
  get list(): readonly Definition[] {
    return this.#list;
  }

  /** Returns the name of a schema; the first one is the root. A schema in two scopes is two definitions. */
  nameOf(target: Target, outer: DynamicScope): string {
    const scope = this.#references.enter(outer, target.schema);
    const names = this.#names.get(target.schema) ?? new Map<string, string>();
    this.#names.set(target.schema, names);
    const known = names.get(scope.key);
    if (known !== undefined) return known;
    const name = this.#list.length === 0 ? ROOT : `d${this.#list.length}`;
    names.set(scope.key, name);
    this.#list.push({ ...target, name, scope });
    return name;
  }
}
