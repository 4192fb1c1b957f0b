import { shown } from "../rendering/shown.ts";
import { UsageError } from "./errors.ts";
import { CONFIG, HELP, parse } from "./parse-options.ts";

/** Runs an agent as a child process, and answers its tool calls. */
export interface SuperviseCommand {
  readonly name: "supervise";
  readonly config: string;
  /** Which of the config's agents. Default: the only one. */
  readonly agent: string | undefined;
  /** Whether the calls come over descriptor 3. Default: over the standard streams. */
  readonly hasChannel: boolean;
  readonly isUnconfined: boolean;
  /** The names of the variables that the agent gets. */
  readonly env: readonly string[];
  /** The program and its arguments. */
  readonly command: readonly [string, ...string[]];
}

const DEFAULT_CONFIG = "sandgate.yaml";

const OPTIONS = {
  agent: { type: "string", short: "a" },
  fd: { type: "string" },
  unconfined: { type: "boolean" },
  env: { type: "string", short: "e", multiple: true },
} as const;

/**
 * Parses the arguments of `sandgate supervise`. Everything after `--` belongs to the agent.
 *
 * @returns `undefined` if the help is asked for.
 * @throws {UsageError} if they are invalid.
 */
export function parseSupervise(args: readonly string[]): SuperviseCommand | undefined {
  const end = args.indexOf("--");
  const own = end === -1 ? args : args.slice(0, end);
  const { values } = parse(own, { ...HELP, ...CONFIG, ...OPTIONS }, 0);
  if (values.help) return undefined;
  const [program, ...others] = end === -1 ? [] : args.slice(end + 1);
  if (program === undefined)
    throw new UsageError(shown`the agent is missing: its program and arguments stand after --`);
  if (values.fd !== undefined && values.fd !== "3")
    throw new UsageError(shown`--fd must be 3, the descriptor of the agent's socket`);
  return {
    name: "supervise",
    config: values.config ?? DEFAULT_CONFIG,
    agent: values.agent,
    hasChannel: values.fd === "3",
    isUnconfined: values.unconfined === true,
    env: values.env ?? [],
    command: [program, ...others],
  };
}
