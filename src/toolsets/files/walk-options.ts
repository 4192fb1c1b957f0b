import type { Pace } from "./pace.ts";

/** What a walk could not use. */
export interface WalkGaps {
  /** Directories that could not be listed: others may not read them, they are too deep, or have too many entries. */
  readonly directories: string[];
  /** `.gitignore` files that could not be read, or are too large. */
  readonly ignoreFiles: string[];
}

/** Returns the object in which a walk tells what it could not use. */
export function noGaps(): WalkGaps {
  return { directories: [], ignoreFiles: [] };
}

/** Options of `walkFiles`. */
export interface WalkOptions {
  readonly pace: Pace;
  /** Receives what cannot be used. */
  readonly gaps: WalkGaps;
}
