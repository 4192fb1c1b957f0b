import { readdir, readFile } from "node:fs/promises";
import { ConfigError } from "../../../config/problem.ts";
import { readConfigFile } from "../../../config/source.ts";
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
  return (await keyOf(place, undefined)).directory;
}

/**
 * Returns the directory of a journal, and the text of the key that signs its checkpoints, if it has one.
 *
 * @param keyFile The file of the key. Default: the one that the config names.
 * @throws like {@link directoryOf}, and {@link UsageError} if the file cannot be read.
 */
export async function keyOf(
  place: JournalPlace,
  keyFile: string | undefined,
): Promise<{ readonly directory: string; readonly key: string | undefined }> {
  const given = keyFile === undefined ? undefined : await readText(keyFile);
  if ("directory" in place) return { directory: await existing(place.directory), key: given };
  const problems: ConfigError["problems"][number][] = [];
  const options = await loadJournalOptions(await readConfigFile(place.config), problems);
  if (problems.length > 0) throw new ConfigError(problems);
  if (options === undefined) throw new UsageError(shown`the config '${place.config}' has no journal`);
  return { directory: await existing(options.directory), key: given ?? options.key };
}

/** @throws {UsageError} as a rejection, if the file cannot be read. */
export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch (error) {
    throw new UsageError(shown`cannot read '${file}': ${(error as Error).message}`);
  }
}

async function existing(directory: string): Promise<string> {
  try {
    await readdir(directory);
    return directory;
  } catch (error) {
    throw new UsageError(shown`the journal '${directory}' cannot be read: ${(error as Error).message}`);
  }
}
