import type { PolicyDecision } from "../decision.ts";
import type { Permission } from "./compiled-rule.ts";

/** The decision for one set of matching permissions. */
export interface CachedDecision {
  /** `undefined` until it is first needed. */
  decision: PolicyDecision | undefined;
  /** The entries for this set with one more permission. */
  readonly next: Map<Permission, CachedDecision>;
}

/** Maximum number of entries for one tool. Only arguments chosen to fill the cache lead to more. */
const MAX_ENTRIES = 256;

/**
 * The decisions on calls of one tool, by the set of matching permissions. It is a tree with one level for
 * each permission, which costs less than building a text key for each call.
 */
export class DecisionCache {
  #root = createEntry();
  #count = 0;

  /** The entry for the empty set. */
  get root(): CachedDecision {
    return this.#root;
  }

  /** Returns the entry for the set of `entry` with one more permission. */
  next(entry: CachedDecision, permission: Permission): CachedDecision {
    return entry.next.get(permission) ?? this.#add(entry, permission);
  }

  #add(entry: CachedDecision, permission: Permission): CachedDecision {
    if (++this.#count > MAX_ENTRIES) {
      this.#root = createEntry();
      this.#count = 0;
    }
    const added = createEntry();
    entry.next.set(permission, added);
    return added;
  }
}

function createEntry(): CachedDecision {
  return { decision: undefined, next: new Map() };
}
