import type { SuspensionStore } from "../../../programs/stores/suspension-store.ts";
import type { Suspensions } from "../../../programs/suspension/suspensions.ts";
import { shown } from "../../../rendering/shown.ts";
import { UsageError } from "../../errors.ts";
import type { LoadedConfig } from "./load.ts";

/**
 * Opens what keeps the programs of served sessions while they wait, if the config says so. Close it after the server.
 *
 * @param shared Where several servers keep them. Default: in the file that the config names.
 * @throws {UsageError} if the keys or the store cannot be opened.
 */
export async function openPrograms(
  { served, sessions: { programs } }: Pick<LoadedConfig, "served" | "sessions">,
  shared?: SuspensionStore,
): Promise<Suspensions | undefined> {
  if (served === undefined || programs === undefined) return undefined;
  // Loaded only for those who keep programs.
  const { openSuspensions } = await import("../../../programs/suspension/suspensions.ts");
  const { readSuspensionKeys } = await import("../../../programs/suspension/keys.ts");
  const { SqliteSuspensionStore } = await import("../../../programs/stores/sqlite-store.ts");
  try {
    const keys = readSuspensionKeys(programs.keysFile);
    return openSuspensions({ keys, store: shared ?? new SqliteSuspensionStore(programs.storeFile) });
  } catch (error) {
    throw new UsageError(shown`cannot keep programs: ${(error as Error).message}`);
  }
}
