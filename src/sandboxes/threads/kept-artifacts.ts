/** How many artifacts a thread keeps; the one that was used longest ago goes first. */
const MAX_ARTIFACTS = 32;

/** The names of the artifacts that a thread keeps, as its pool knows them. */
export class KeptArtifacts {
  /** The one that was used last comes last. */
  readonly #names = new Set<string>();

  /** Notes that a task needs an artifact; `false` when the thread did not have it yet. */
  use(name: string): boolean {
    const isKept = this.#names.delete(name);
    this.#names.add(name);
    return isKept;
  }

  /** One that is too many; `undefined` where none is. */
  surplus(): string | undefined {
    if (this.#names.size <= MAX_ARTIFACTS) return undefined;
    return this.#names.values().next().value;
  }

  /** `false` when it is not there. */
  delete(name: string): boolean {
    return this.#names.delete(name);
  }
}
