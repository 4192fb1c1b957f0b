import type { DynamicScope } from "../dynamic-scope.ts";
import type { References, Target } from "./references.ts";

/** The name of the root among the definitions. */
export const ROOT = "root";

/** The root, or a schema that a reference leads to. */
export interface Definition extends Target {
  readonly name: string;
  readonly scope: DynamicScope;
}

/** The schemas that are lowered on their own: the root, and whatever references lead to. */
export class Definitions {
  readonly #references: References;
  readonly #list: Definition[] = [];

  constructor(references: References) {
    this.#references = references;
  }

  /** In the order in which they were named; it grows while it is walked. */
  get list(): readonly Definition[] {
    return this.#list;
  }

  /** The name of a schema: the root is named first. In another scope, a schema is another definition. */
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
