import type { JsonObject } from "../json/value.ts";

/** Which schema each `$dynamicAnchor` stands for at a place: that of the outermost resource on the way there. */
export class DynamicScope {
  /** Scopes with the same key bind the same. */
  readonly key: string;
  readonly #bindings: ReadonlyMap<string, JsonObject>;

  constructor(key = "", bindings: ReadonlyMap<string, JsonObject> = new Map()) {
    this.key = key;
    this.#bindings = bindings;
  }

  get(anchor: string): JsonObject | undefined {
    return this.#bindings.get(anchor);
  }

  /** The scope inside a resource, which binds what is not bound yet. */
  enter(resource: string, anchors: ReadonlyMap<string, JsonObject>): DynamicScope {
    const added = [...anchors].filter(([anchor]) => !this.#bindings.has(anchor));
    if (added.length === 0) return this;
    return new DynamicScope(`${this.key} ${resource}`, new Map([...this.#bindings, ...added]));
  }
}
