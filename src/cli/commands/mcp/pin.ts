import { createInterface } from "node:readline";
import { compareDefinitions } from "../../../pins/compare-definitions.ts";
import { NOTHING_APPROVED } from "../../../pins/definition-lock.ts";
import { writeLock } from "../../../pins/lock-file.ts";
import { showNewDefinitions } from "../../../pins/show-changes.ts";
import { shown } from "../../../rendering/shown.ts";
import {
  EXIT_BAD_INPUT,
  EXIT_OK,
  EXIT_TOOL_FAILED,
  type ExitCode,
  print,
  type Terminal,
} from "../../terminal/terminal.ts";
import { findDefinitions } from "./definitions.ts";

/** Options of `sandgate mcp pin`. */
interface PinOptions {
  readonly config: string;
  /** Whether the definitions are approved without a question. */
  readonly isApproved: boolean;
}

/**
 * Prints the definitions of a config's tools and MCP servers, and writes them to its lock if the person at the terminal approves
 * them. A lock that exists stays as it is: its changes are accepted with `mcp diff --accept`, which shows them.
 *
 * @throws {ConfigError} if the config is invalid.
 */
export async function pin({ config, isApproved }: PinOptions, terminal: Terminal): Promise<ExitCode> {
  const { current, located } = await findDefinitions(config, terminal);
  const { file, lock } = located;
  if (lock !== undefined) {
    await print(
      terminal.stderr,
      shown`sandgate: ${file} exists: 'sandgate mcp diff' shows what changed since, and accepts it with --accept`,
    );
    return EXIT_BAD_INPUT;
  }
  const added = compareDefinitions(NOTHING_APPROVED, current);
  await print(terminal.stdout, showNewDefinitions(added));
  if (!isApproved && added.length > 0 && !(await approves(added.length, terminal))) {
    const how = terminal.isInteractive === true ? "" : ": read what is above, and approve it with --yes";
    await print(terminal.stderr, shown`sandgate: nothing was pinned${how}`);
    return EXIT_TOOL_FAILED;
  }
  await writeLock(file, current);
  await print(terminal.stdout, shown`${file}: ${current.tools.size} tools are pinned`);
  return EXIT_OK;
}

/** Asks the person at the terminal, if there is one. */
async function approves(
  count: number,
  { isInteractive = false, stdin, stderr, signal }: Terminal,
): Promise<boolean> {
  if (!isInteractive) return false;
  await print(stderr, shown`Approve these ${count} definitions? Type yes, or anything else to pin nothing:`);
  const lines = createInterface({ input: stdin, ...(signal && { signal }) });
  try {
    for await (const line of lines) return /^y(es)?$/i.test(line.trim());
    return false;
  } finally {
    lines.close();
  }
}
