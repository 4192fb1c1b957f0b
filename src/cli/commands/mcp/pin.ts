import { writeLock } from "../../../pins/lock-file.ts";
import { shown } from "../../../rendering/shown.ts";
import { EXIT_BAD_INPUT, EXIT_OK, type ExitCode, print, type Terminal } from "../../terminal/terminal.ts";
import { findDefinitions } from "./definitions.ts";

/**
 * Writes the definitions of a config's tools and MCP servers to its lock. A lock that exists stays as it is: its changes are accepted with
 * `mcp diff --accept`, which shows them.
 *
 * @throws {ConfigError} if the config is invalid.
 */
export async function pin({ config }: { readonly config: string }, terminal: Terminal): Promise<ExitCode> {
  const { current, located } = await findDefinitions(config, terminal);
  const { file, lock } = located;
  if (lock !== undefined) {
    await print(
      terminal.stderr,
      shown`sandgate: ${file} exists: 'sandgate mcp diff' shows what changed since, and accepts it with --accept`,
    );
    return EXIT_BAD_INPUT;
  }
  await writeLock(file, current);
  await print(terminal.stdout, shown`${file}: ${current.tools.size} tools are pinned`);
  return EXIT_OK;
}
