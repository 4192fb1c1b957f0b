import { readdir } from "node:fs/promises";
import { ConfigError } from "../../../config/problem.ts";
import { readConfigFile } from "../../../config/read-file.ts";
import { shown } from "../../../rendering/shown.ts";
import { loadJournalOptions } from "../../config/load-journal.ts";
import { UsageError } from "../../errors.ts";

/** Where a journal is: its directory, or a config that has one. */
export type JournalPlace = { readonly directory: string } | { readonly config: string };

/**
 * Returns the directory of a journal.
 *
 * @throws {ConfigError} if the config or its journal is invalid.
 * @throws {UsageError} if the config has no journal, or the directory cannot be read.
 */
export async function directoryOf(place: JournalPlace): Promise<string> {
  if ("directory" in place) return existing(place.directory);
  const problems: ConfigError["problems"][number][] = [];
  const options = await loadJournalOptions(await readConfigFile(place.config), problems);
  if (problems.length > 0) throw new ConfigError(problems);
  if (options === undefined) throw new UsageError(shown`the config '${place.config}' has no journal`);
  return existing(options.directory);
}

async function existing(directory: string): Promise<string> {
  try {
    await readdir(directory);
    return directory;
  } catch (error) {
    throw new UsageError(shown`the journal '${directory}' cannot be read: ${(error as Error).message}`);
  }
}
