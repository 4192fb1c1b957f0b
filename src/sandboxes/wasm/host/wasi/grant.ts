import type { DirectoryGrant } from "../../../../policy/grant/directory-grant.ts";

/** What a call may reach through WASI. Everything else is empty or denied. */
export interface WasiGrant {
  /** Environment variables: names and values. */
  readonly env: readonly (readonly [name: string, value: string])[];
  readonly clock: boolean;
  readonly random: boolean;
  /** The one time that the clocks show, in ms since the epoch; `undefined` for the true time. */
  readonly frozenClock: number | undefined;
  /** What random numbers are made of; `undefined` for chance. */
  readonly randomSeed: string | undefined;
  /** Directories of this machine. */
  readonly fs: readonly DirectoryGrant[];
  /** How many bytes each call may write to files in them. */
  readonly fileBytes: number;
}
