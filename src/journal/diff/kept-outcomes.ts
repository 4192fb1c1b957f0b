/** The number of outcomes that are kept, since most journals have equal calls. */
const MAX_KEPT = 10_000;
/** One in so many calls must be equal to an earlier one, or keeping outcomes takes longer than deciding again. */
const RARE = 10;

/** Outcomes of earlier calls by everything on which they depend, as long as equal calls are frequent enough. */
export class KeptOutcomes<Outcome> {
  readonly #outcomes = new Map<string, Outcome>();
  #found = 0;
  #isUseful = true;

  /** Whether equal calls were frequent so far, so that making a key is worth while. */
  get isUseful(): boolean {
    return this.#isUseful;
  }

  get(key: string): Outcome | undefined {
    const outcome = this.#outcomes.get(key);
    if (outcome !== undefined) this.#found++;
    return outcome;
  }

  set(key: string, outcome: Outcome): void {
    if (this.#outcomes.size >= MAX_KEPT) {
      this.#outcomes.clear();
      this.#isUseful = this.#found * RARE >= MAX_KEPT;
      this.#found = 0;
    }
    this.#outcomes.set(key, outcome);
  }
}
