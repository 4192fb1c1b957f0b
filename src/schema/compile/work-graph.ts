import { MAX_KEYWORDS_PER_VALUE } from "../bounds.ts";
import type { SchemaProblem } from "../schema-error.ts";

interface Reference {
  readonly to: string;
  readonly path: string;
}

/**
 * Computes the cost of definitions for a single value, including the references that apply to the same value. A cycle
 * of such references never ends, and a chain can double the work at each link.
 */
export class WorkGraph {
  readonly #weights = new Map<string, number>();
  readonly #references = new Map<string, Reference[]>();
  /** The computed costs; `"open"` while a cost is being computed. */
  readonly #costs = new Map<string, number | "open">();

  /** Adds a definition with its number of keywords. */
  add(definition: string, keywords: number): void {
    this.#weights.set(definition, keywords);
  }

  /** Adds a reference that applies to the same value as the definition that contains it. */
  refer(from: string, to: string, path: string): void {
    const known = this.#references.get(from);
    if (known === undefined) this.#references.set(from, [{ to, path }]);
    else known.push({ to, path });
  }

  /** Returns the first reference that never ends or that causes too much work. */
  findProblem(): SchemaProblem | undefined {
    for (const definition of this.#weights.keys()) {
      const found = this.#cost(definition);
      if (typeof found !== "number") return found;
    }
    return undefined;
  }

  #cost(definition: string): number | SchemaProblem {
    const known = this.#costs.get(definition);
    if (typeof known === "number") return known;
    this.#costs.set(definition, "open");
    let cost = this.#weights.get(definition) ?? 0;
    for (const { to, path } of this.#references.get(definition) ?? []) {
      if (this.#costs.get(to) === "open")
        return { path, reason: "the reference recurses endlessly on the same value" };
      const more = this.#cost(to);
      if (typeof more !== "number") return more;
      cost += more;
      if (cost > MAX_KEYWORDS_PER_VALUE) {
        return {
          path,
          reason: `more than ${MAX_KEYWORDS_PER_VALUE} keywords apply to one value through references`,
        };
      }
    }
    this.#costs.set(definition, cost);
    return cost;
  }
}
