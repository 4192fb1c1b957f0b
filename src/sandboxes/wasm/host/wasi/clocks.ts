import type { ComponentRecord } from "../../abi/value.ts";
import type { InterfaceMembers } from "../interface-members.ts";
import { Pollable } from "./poll.ts";

const NANOSECONDS_PER_SECOND = 1_000_000_000n;
const NANOSECONDS_PER_MS = 1_000_000n;

/**
 * Returns `wasi:clocks/wall-clock`.
 *
 * @param frozenMs The fixed time of the clock, in ms since the epoch; `undefined` for the current time.
 */
export function wallClock(frozenMs: number | undefined): InterfaceMembers {
  return {
    now: () => datetime(BigInt(frozenMs ?? Date.now()) * NANOSECONDS_PER_MS),
    resolution: () => datetime(NANOSECONDS_PER_MS),
  };
}

/** Returns the record `datetime`, which cannot represent times before the epoch. They become the epoch. */
function datetime(ns: bigint): ComponentRecord {
  const known = ns > 0n ? ns : 0n;
  return {
    seconds: known / NANOSECONDS_PER_SECOND,
    nanoseconds: Number(known % NANOSECONDS_PER_SECOND),
  };
}

/**
 * Returns `wasi:clocks/monotonic-clock`.
 *
 * @param isFrozen Whether the clock is always 0. Waiting returns at once then, because the time would never come.
 */
export function monotonicClock(isFrozen: boolean): InterfaceMembers {
  const now = (): bigint => (isFrozen ? 0n : process.hrtime.bigint());
  return {
    now,
    resolution: () => 1n,
    subscribeInstant: (when: bigint) => (isFrozen ? new Pollable() : Pollable.at(when)),
    subscribeDuration: (ns: bigint) => (isFrozen ? new Pollable() : Pollable.at(now() + ns)),
  };
}
