import type { MaybePromise } from "../../base/promises.ts";
import { Refusal } from "../../engine/failure/refusal.ts";
import type { CallIdentity } from "../store/call-identity.ts";
import type { CallTable } from "../store/store.ts";

/** How many calls a session can make. */
export interface QuotaLimits {
  /** Of all tools. `Infinity` if there is no limit. */
  readonly calls: number;
  readonly callsPerTool: ReadonlyMap<string, number>;
}

/** Counts the calls of one session that the policy does not deny, with those that tools make. */
export class Quotas {
  readonly #limits: QuotaLimits;
  readonly #store: Pick<CallTable, "count"> | undefined;
  #calls = 0;
  readonly #byTool: Map<string, number>;

  /**
   * @param store Where calls are counted too, so that none counts twice after a restart. Default: nowhere.
   * @param counted What the store has counted already.
   */
  constructor(
    limits: QuotaLimits,
    store: Pick<CallTable, "count"> | undefined,
    counted: ReadonlyMap<string, number> = new Map(),
  ) {
    this.#limits = limits;
    this.#store = store;
    this.#byTool = new Map(counted);
    for (const count of counted.values()) this.#calls += count;
  }

  /** Whether calls need not be counted, since there is no limit. */
  static isUnlimited({ calls, callsPerTool }: QuotaLimits): boolean {
    return calls === Number.POSITIVE_INFINITY && callsPerTool.size === 0;
  }

  /**
   * Counts a call. Nothing is counted for a call that was counted before a restart.
   *
   * @param identity Called only if there is a store.
   * @throws {Refusal} `permission_denied` if a limit is used up, also as a rejection.
   */
  count(tool: string, identity: () => CallIdentity): MaybePromise<void> {
    if (this.#store === undefined) return this.#take(tool);
    const isNew = this.#store.count(identity(), tool);
    if (isNew instanceof Promise) return isNew.then((counts) => this.#takeIf(counts, tool));
    return this.#takeIf(isNew, tool);
  }

  #takeIf(isNew: boolean, tool: string): void {
    if (isNew) this.#take(tool);
  }

  #take(tool: string): void {
    const { calls, callsPerTool } = this.#limits;
    if (this.#calls >= calls) throw refusal(`this session made ${calls} calls, its limit`);
    const used = this.#byTool.get(tool) ?? 0;
    const most = callsPerTool.get(tool) ?? Number.POSITIVE_INFINITY;
    if (used >= most) throw refusal(`tool '${tool}' was called ${most} times, its limit in this session`);
    this.#calls++;
    this.#byTool.set(tool, used + 1);
  }
}

function refusal(reason: string): Refusal {
  return new Refusal("permission_denied", `Permission denied: ${reason}`, { detail: reason });
}
