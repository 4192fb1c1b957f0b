import { ConfigError } from "../../../config/problem.ts";
import {
  type DefinitionLock,
  NOTHING_APPROVED,
  registeredDefinitions,
  writeLock,
} from "../../../pins/lock-file.ts";
import { compareDefinitions, showChanges, showNewDefinitions } from "../../../pins/show-changes.ts";
import { joinShown, shown } from "../../../rendering/shown.ts";
import { type LocatedLock, registerOffers } from "../../config/load-all-tools.ts";
import { loadConfig } from "../../config/load-config.ts";
import {
  asksForYes,
  EXIT_BAD_INPUT,
  EXIT_OK,
  EXIT_TOOL_FAILED,
  type ExitCode,
  print,
  showProblems,
  type Terminal,
} from "../../terminal.ts";
import { ConfiguredServers, isOffer } from "./servers.ts";

/** The definitions of a config as they are now, and as they were approved. */
interface FoundDefinitions {
  readonly current: DefinitionLock;
  readonly located: LocatedLock;
}

/** Options of `sandgate mcp diff`. */
interface DiffOptions {
  readonly config: string;
  /** Whether the lock is written anew with what is shown. */
  readonly accepts: boolean;
}

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
  const question = shown`Approve these ${added.length} definitions? Type yes, or anything else to pin nothing:`;
  if (!isApproved && added.length > 0 && !(await asksForYes(question, terminal))) {
    const how = terminal.isInteractive === true ? "" : ": read what is above, and approve it with --yes";
    await print(terminal.stderr, shown`sandgate: nothing was pinned${how}`);
    return EXIT_TOOL_FAILED;
  }
  await writeLock(file, current);
  await print(terminal.stdout, shown`${file}: ${current.tools.size} tools are pinned`);
  return EXIT_OK;
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

/**
 * Loads the tools of a config, those of its MCP servers included, and its lock, and prints warnings.
 *
 * @throws {ConfigError} if the config is invalid. A lock that does not exist is not a problem.
 */
async function findDefinitions(config: string, { stderr }: Terminal): Promise<FoundDefinitions> {
  await using servers = new ConfiguredServers("error", { startsUnapproved: true });
  const { lock: located, problems: all, registry } = await loadConfig(config, servers);
  const problems = all.filter((problem) => problem !== located.missing);
  // Tools that cannot be loaded would be missing from the lock.
  if (problems.some(({ severity }) => severity === "error")) throw new ConfigError(problems);
  await print(stderr, showProblems(problems));
  const said = servers.definitions();
  // Where servers have resources or prompts, they are read through tools of the server of MCP. Names of servers have no `/`.
  if ([...said.keys()].some(isOffer)) await registerOffers(registry);
  return { current: registeredDefinitions(registry, said), located };
}
