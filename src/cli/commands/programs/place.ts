import { existsSync } from "node:fs";
import { ConfigError } from "../../../config/problem.ts";
import { readConfigFile } from "../../../config/read-file.ts";
import { SqliteSuspensionStore } from "../../../programs/stores/sqlite-store.ts";
import { type ProgramHeader, SuspensionStoreError } from "../../../programs/stores/suspension-store.ts";
import { shown } from "../../../rendering/shown.ts";
import { loadSessions } from "../../config/load-sessions.ts";
import { UsageError } from "../../errors.ts";

/** Where suspended programs are: the file, or a config whose sessions keep some. */
export type ProgramsPlace = { readonly file: string } | { readonly config: string };

/**
 * Opens the store of suspended programs. A server can have it open at the same time.
 *
 * @throws {ConfigError} if the config is invalid.
 * @throws {UsageError} if the config keeps no programs, or the file cannot be opened.
 */
export async function openPrograms(place: ProgramsPlace, readOnly: boolean): Promise<SqliteSuspensionStore> {
  const file = "file" in place ? place.file : await fileOf(place.config);
  if (!existsSync(file)) {
    throw new UsageError(
      shown`the store of programs '${file}' does not exist: a server creates it when it starts with 'sessions.programs' in its config`,
    );
  }
  try {
    if (readOnly) return new SqliteSuspensionStore(file, { readOnly });
    // What is not a store must not become one.
    new SqliteSuspensionStore(file, { readOnly: true }).close();
    return new SqliteSuspensionStore(file);
  } catch (error) {
    if (error instanceof SuspensionStoreError) throw new UsageError(shown`${error.message}`);
    throw error;
  }
}

async function fileOf(config: string): Promise<string> {
  const problems: ConfigError["problems"][number][] = [];
  const { programs } = loadSessions(await readConfigFile(config), problems);
  if (problems.length > 0) throw new ConfigError(problems);
  if (programs === undefined) throw new UsageError(shown`the config '${config}' has no 'sessions.programs'`);
  return programs.storeFile;
}

/**
 * Finds a program by its id, or by the beginning of it.
 *
 * @throws {UsageError} if there is none, or several begin like this.
 */
export function findProgram(programs: readonly ProgramHeader[], id: string): ProgramHeader {
  const [found, other] = programs.filter((program) => id !== "" && program.id.startsWith(id));
  if (found === undefined) throw new UsageError(shown`there is no suspended program '${id}'`);
  if (other !== undefined) throw new UsageError(shown`several suspended programs begin with '${id}'`);
  return found;
}
