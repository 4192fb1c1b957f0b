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
    const known = this.#list.find(
      ({ schema, scope: { key } }) => schema === target.schema && key === scope.key,
    );
    if (known !== undefined) return known.name;
    const name = this.#list.length === 0 ? ROOT : `d${this.#list.length}`;
    this.#list.push({ ...target, name, scope });
    return name;
  }
}
