import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { dirname } from "node:path";
import { formatBytes } from "../../../base/units.ts";
import type { Holding } from "../../../sandboxes/contract/holding.ts";
import { checkStoreFile } from "../../../sessions/store/sqlite/check-file.ts";
import type { Config } from "../../config/load-config.ts";

/** Below this, a store is likely to fill its disk soon. */
const MIN_FREE_BYTES = 64 * 2 ** 20;

/** A file or directory that a config keeps something in. */
export interface StoreReport {
  readonly name: "sessions" | "journal";
  readonly path: string;
  readonly state: Holding;
}

/** Checks that the stores of a config can be written, and that this version can read them. Changes nothing. */
export async function reportStores({ source, sessions, journalOptions }: Config): Promise<StoreReport[]> {
  const reports: StoreReport[] = [];
  if (source.at(["sessions"]) !== undefined || source.at(["server", "sessions"]) === true) {
    const path = sessions.storeFile;
    reports.push({ name: "sessions", path, state: await stateOf(path, () => checkStoreFile(path)) });
  }
  if (journalOptions !== undefined) {
    const path = journalOptions.directory;
    reports.push({ name: "journal", path, state: await stateOf(path) });
  }
  return reports;
}

async function stateOf(path: string, checkFormat: () => void = () => {}): Promise<Holding> {
  try {
    const isThere = await exists(path);
    const place = isThere ? path : await nearestFolder(path);
    await access(place, constants.W_OK);
    if (isThere) checkFormat();
    const { bavail, bsize } = await statfs(place);
    if (bavail * bsize >= MIN_FREE_BYTES) return { holds: true };
    const reason = `the disk has only ${formatBytes(bavail * bsize)} left`;
    return { holds: false, reason, remedy: "free space, or use another disk" };
  } catch (error) {
    return { holds: false, reason: (error as Error).message };
  }
}

/** Returns the folder in which a missing file or directory would be created. */
async function nearestFolder(path: string): Promise<string> {
  const folder = dirname(path);
  return folder === path || (await exists(folder)) ? folder : nearestFolder(folder);
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
