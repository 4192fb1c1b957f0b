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
 * @throws {UsageError} if the config has no journal.
 */
export async function directoryOf(place: JournalPlace): Promise<string> {
  if ("directory" in place) return place.directory;
  const problems: ConfigError["problems"][number][] = [];
  const options = await loadJournalOptions(await readConfigFile(place.config), problems);
  if (problems.length > 0) throw new ConfigError(problems);
  if (options === undefined) throw new UsageError(shown`the config '${place.config}' has no journal`);
  return options.directory;
}
