import { isJsonObject, type JsonObject, type JsonValue } from "../../json/value.ts";

const DEFINITION = /^#\/(?:\$defs|definitions)\/([^/]+)$/;

/** Finds what references in a schema refer to. */
export class References {
  readonly #root: JsonObject;
  /** The schemas with a name of their own, by `#` and that name, or by their `$id`. */
  #named: Map<string, JsonObject> | undefined;

  constructor(root: JsonObject) {
    this.#root = root;
  }

  /** Returns the name of the root's definition that a reference names; `undefined` if it names anything else. */
  nameOf(reference: string): string | undefined {
    const name = DEFINITION.exec(reference)?.[1];
    return name === undefined ? undefined : decode(name);
  }

  /** Returns the schema that a reference names; `undefined` if there is none in this schema. */
  find(reference: string): JsonValue | undefined {
    if (reference === "#") return this.#root;
    if (!reference.startsWith("#/")) return this.#byName().get(reference);
    let node: JsonValue | undefined = this.#root;
    for (const step of reference.slice(2).split("/").map(decode)) {
      if (typeof node !== "object" || node === null || !Object.hasOwn(node, step)) return undefined;
      node = (node as { readonly [name: string]: JsonValue })[step];
    }
    return node;
  }

  #byName(): ReadonlyMap<string, JsonObject> {
    if (this.#named !== undefined) return this.#named;
    this.#named = new Map();
    const waiting: JsonValue[] = [this.#root];
    for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
      if (typeof node !== "object" || node === null) continue;
      if (isJsonObject(node)) {
        for (const [keyword, prefix] of NAMES) {
          const name = node[keyword];
          if (typeof name === "string") this.#named.set(prefix + name, node);
        }
      }
      for (const child of Object.values(node)) if (child !== undefined) waiting.push(child);
    }
    return this.#named;
  }
}

/** Keywords that give a schema a name, and what a reference has before it. */
const NAMES = [
  ["$id", ""],
  ["$anchor", "#"],
  ["$dynamicAnchor", "#"],
] as const;

function decode(step: string): string {
  const text = step.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
