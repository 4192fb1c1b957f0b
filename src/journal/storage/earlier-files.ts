import { statSync } from "node:fs";
import { basename } from "node:path";
import { besideFile } from "./file-names.ts";

/** How many files are looked at in one turn, since each takes a few microseconds. */
const MAX_LOOKED_AT = 64;

/**
 * The files of a journal before its last one, to which nothing is written, and what stands beside them. Notices if one is
 * removed, replaced or changed.
 */
export class EarlierFiles {
  /** What identifies a file and its content, by its path. */
  readonly #states = new Map<string, string>();
  /** The paths that are still to be looked at in this round. */
  #round: string[] = [];

  /** Adds a file with records as it is now. */
  add(path: string): void {
    for (const each of [path, besideFile(path, "checkpoints"), besideFile(path, "sealed")]) {
      const state = stateOf(each);
      if (state !== undefined) this.#states.set(each, state);
    }
  }

  /** Looks at some of the files, and returns what is wrong with them. Each file is reported once. */
  look(): readonly EarlierFileProblem[] {
    if (this.#round.length === 0) this.#round = [...this.#states.keys()];
    return this.#round.splice(0, MAX_LOOKED_AT).flatMap((path) => {
      const state = stateOf(path);
      if (state === this.#states.get(path)) return [];
      this.#states.delete(path);
      return [{ path, firstSeq: Number(/\d{16}/.exec(basename(path))?.[0]), isRemoved: state === undefined }];
    });
  }
}

/** An earlier file that is no longer as it was. */
export interface EarlierFileProblem {
  readonly path: string;
  /** The number of the first record of the file, or of the one beside which it stands. */
  readonly firstSeq: number;
  readonly isRemoved: boolean;
}

function stateOf(path: string): string | undefined {
  try {
    const { dev, ino, size, mtimeNs } = statSync(path, { bigint: true });
    return `${dev} ${ino} ${size} ${mtimeNs}`;
  } catch {
    return undefined;
  }
}
