import { compareDefinitions } from "../../../pins/compare-definitions.ts";
import { NOTHING_APPROVED } from "../../../pins/definition-lock.ts";
import { writeLock } from "../../../pins/lock-file.ts";
import { showChanges, showNewDefinitions } from "../../../pins/show-changes.ts";
import { joinShown, shown } from "../../../rendering/shown.ts";
import { EXIT_OK, EXIT_TOOL_FAILED, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { findDefinitions } from "./definitions.ts";

/** Options of `sandgate mcp diff`. */
interface DiffOptions {
  readonly config: string;
  /** Whether the lock is written anew with what is shown. */
  readonly accepts: boolean;
}

/**
 * Prints which definitions of a config differ from its lock, and how; all of them if there is no lock. The exit code is 1 if one does, unless it is accepted.
 *
 * @throws {ConfigError} if the config is invalid.
 */
export async function diffDefinitions(
  { accepts, config }: DiffOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const { current, located } = await findDefinitions(config, terminal);
  const { file, lock } = located;
  const changes = compareDefinitions(lock ?? NOTHING_APPROVED, current);
  if (changes.length === 0) {
    await print(terminal.stdout, shown`every definition is the one that was approved`);
    return EXIT_OK;
  }
  if (accepts) await writeLock(file, current);
  const sum = accepts
    ? shown`${changes.length} definitions are accepted`
    : lock === undefined
      ? shown`${file} does not exist: 'sandgate mcp pin' approves these ${changes.length} definitions`
      : shown`${changes.length} definitions differ from ${file}: such tools are not offered, and their calls are denied`;
  const all = lock === undefined ? showNewDefinitions(changes) : showChanges(changes);
  await print(terminal.stdout, joinShown([all, sum], "\n"));
  return accepts ? EXIT_OK : EXIT_TOOL_FAILED;
}
