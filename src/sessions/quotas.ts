import type { MaybePromise } from "../base/promises.ts";
import { Refusal } from "../engine/refusal.ts";
import type { CallIdentity } from "../record/identity.ts";
import type { CallTable } from "./store/store.ts";

/** How many calls a session can make. */
export interface QuotaLimits {
  /** Of all tools. `Infinity` if there is no limit. */
  readonly calls: number;
  readonly callsPerTool: ReadonlyMap<string, number>;
}

/** The outcome of a call that several processes count: it is counted, now or before, or a limit is exhausted. */
export type SharedCount = "counted" | "calls" | "tool";

/** Counts a call of a tool where several processes count. */
export type CountShared = (
  identity: CallIdentity,
  tool: string,
  limits: { readonly calls: number; readonly callsOfTool: number },
) => Promise<SharedCount>;

/** Counts the calls of one session that the policy does not deny, with those that tools make. */
export class Quotas {
  readonly #limits: QuotaLimits;
  readonly #store: Pick<CallTable, "count" | "isCounted"> | undefined;
  readonly #countShared: CountShared | undefined;
  #calls = 0;
  readonly #byTool: Map<string, number>;

  /**
   * @param store Where calls are counted too, so that none counts twice after a restart. Default: nowhere.
   * @param counted What the store has counted already.
   * @param countShared Counts in place of this process, if other processes run calls of the session, too.
   */
  constructor(
    limits: QuotaLimits,
    store: Pick<CallTable, "count" | "isCounted"> | undefined,
    counted: ReadonlyMap<string, number> = new Map(),
    countShared?: CountShared,
  ) {
    this.#countShared = countShared;
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
    if (this.#countShared !== undefined) return this.#countWithOthers(tool, identity(), this.#countShared);
    const full = this.#fullLimit(tool);
    if (full !== undefined) return this.#refuseUnlessCounted(full, identity);
    this.#take(tool, 1);
    if (this.#store === undefined) return undefined;
    const giveBackIf = (isNew: boolean): void => {
      if (!isNew) this.#take(tool, -1);
    };
    try {
      const isNew = this.#store.count(identity(), tool);
      if (!(isNew instanceof Promise)) return giveBackIf(isNew);
      return isNew.then(giveBackIf, (error: unknown) => {
        giveBackIf(false);
        throw error;
      });
    } catch (error) {
      giveBackIf(false);
      throw error;
    }
  }

  async #countWithOthers(tool: string, identity: CallIdentity, count: CountShared): Promise<void> {
    const { calls, callsPerTool } = this.#limits;
    const callsOfTool = callsPerTool.get(tool) ?? Number.POSITIVE_INFINITY;
    const counted = await count(identity, tool, { calls, callsOfTool });
    if (counted === "calls") throw refusal(`this session made ${calls} calls, its limit`);
    if (counted === "tool") {
      throw refusal(`tool '${tool}' was called ${callsOfTool} times, its limit in this session`);
    }
  }

  /** Counts a call that has run, as a journal says, unless the store has counted it. */
  async recount(tool: string, identity: CallIdentity): Promise<void> {
    if (await this.#store?.count(identity, tool)) this.#take(tool, 1);
  }

  /** Only the store knows whether the call was one of those that used the limit up, before a restart. */
  #refuseUnlessCounted(reason: string, identity: () => CallIdentity): MaybePromise<void> {
    const refuseUnless = (isCounted: boolean): void => {
      if (!isCounted) throw refusal(reason);
    };
    const isCounted = this.#store?.isCounted(identity()) ?? false;
    return isCounted instanceof Promise ? isCounted.then(refuseUnless) : refuseUnless(isCounted);
  }

  /** The limit that a call would exceed. */
  #fullLimit(tool: string): string | undefined {
    const { calls, callsPerTool } = this.#limits;
    if (this.#calls >= calls) return `this session made ${calls} calls, its limit`;
    const most = callsPerTool.get(tool) ?? Number.POSITIVE_INFINITY;
    if ((this.#byTool.get(tool) ?? 0) < most) return undefined;
    return `tool '${tool}' was called ${most} times, its limit in this session`;
  }

  #take(tool: string, count: 1 | -1): void {
    this.#calls += count;
    this.#byTool.set(tool, (this.#byTool.get(tool) ?? 0) + count);
  }
}

function refusal(reason: string): Refusal {
  return new Refusal("permission_denied", `Permission denied: ${reason}`, { detail: reason });
}
