import type { ComponentRecord } from "../../abi/value.ts";
import type { InterfaceMembers } from "../interface-members.ts";
import { Pollable } from "./poll.ts";

const NANOSECONDS_PER_SECOND = 1_000_000_000n;
const NANOSECONDS_PER_MS = 1_000_000n;

/**
 * `wasi:clocks/wall-clock`, granted.
 *
 * @param frozenMs The one time that it shows, in ms since the epoch; `undefined` for the true time.
 */
export function wallClock(frozenMs: number | undefined): InterfaceMembers {
  return {
    now: () => datetime(BigInt(frozenMs ?? Date.now()) * NANOSECONDS_PER_MS),
    resolution: () => datetime(NANOSECONDS_PER_MS),
  };
}

/** The record `datetime`. A time before the epoch has none: it counts as the epoch. */
function datetime(ns: bigint): ComponentRecord {
  const known = ns > 0n ? ns : 0n;
  return {
    seconds: known / NANOSECONDS_PER_SECOND,
    nanoseconds: Number(known % NANOSECONDS_PER_SECOND),
  };
}

/**
 * `wasi:clocks/monotonic-clock`, granted. A frozen clock shows 0, and whoever waits by it goes on at once: its
 * time never comes.
 *
 * @param isFrozen Whether time stands still.
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
