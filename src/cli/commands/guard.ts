import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  randomUUID,
} from "node:crypto";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, extname, join, resolve } from "node:path";
import { guardFiles, takeGuardedFiles } from "../../base/guarded-files.ts";
import { entryFile } from "../../base/package-files.ts";
import { PACKAGE_FOLDER } from "../../base/package-folder.ts";
import { ToolDispatchEngine } from "../../engine/engine.ts";
import { ToolRegistry } from "../../engine/registry.ts";
import type { GuardedAgent } from "../../guard/agent.ts";
import type { GuardOptions } from "../../guard/guard-server.ts";
import type { ConfinedCommand } from "../../guard/handover.ts";
import {
  AGENTS,
  agentNamed,
  type HookTarget,
  hookFile,
  hookStatus,
  InstallError,
  installHook,
  quickHook,
  SECRET,
  uninstallHook,
  writeQuickHook,
} from "../../guard/install.ts";
import { askGuard, checkFolder } from "../../guard/wire.ts";
import { allow } from "../../policy/policy.ts";
import { shown } from "../../rendering/shown.ts";
import { openSandboxes } from "../../sandboxes/open-sandboxes.ts";
import type { ProgramCompletion } from "../../tool/implementations/process-implementation.ts";
import { guardTools } from "../../toolsets/guard-tools.ts";
import { UsageError } from "../errors.ts";
import { EXIT_OK, EXIT_TOOL_FAILED, type ExitCode, print, type Terminal } from "../terminal.ts";

/** Options of the commands `sandgate guard …`. */
interface GuardCommand {
  /** Default: `~/.config/sandgate/guard/sandgate.yaml`. */
  readonly config: string | undefined;
  /** The names of the agents. Empty: all. */
  readonly agents: readonly string[];
  /** Whether the hook is one of the whole machine. */
  readonly isManaged: boolean;
  /** The folders in which agents work, for a new config. */
  readonly workspaces: readonly string[];
}

/** The files beside the config. */
const KEY = "guard.key";
const SOCKET = "guard.sock";
const TOKEN = "approver.token";

/** Maximum length of a socket's path that every system supports. */
const MAX_SOCKET_BYTES = 103;

/**
 * Installs the hook of agents, with a new config unless there is one.
 *
 * @throws {UsageError} if an agent is unknown, or its settings cannot be changed.
 */
export async function installGuard(command: GuardCommand, terminal: Terminal): Promise<ExitCode> {
  const agents = agentsOf(command.agents);
  if (command.agents.length === 0) throw new UsageError(shown`name the agents: ${namesOf(AGENTS)}`);
  const config = configOf(command);
  const folder = dirname(config);
  createFolder(folder);
  if (existsSync(config)) {
    if (command.workspaces.length > 0)
      throw new UsageError(shown`'${config}' exists: add the folder to its server.workspaces`);
  } else {
    const given = command.workspaces.length > 0 ? command.workspaces : [process.cwd()];
    const workspaces = given.map((path) => realpathSync(path));
    writeFileSync(config, newConfig(workspaces), { mode: 0o600, flag: "wx" });
    await print(terminal.stdout, shown`wrote ${config}: agents may work in ${workspaces.join(", ")}`);
  }
  createSecrets(folder);
  writeQuickHook(folder);
  const target = targetOf(config);
  for (const agent of agents) {
    const file = orUsageError(() => hookFile(agent, homedir(), command.isManaged));
    orUsageError(() => installHook(agent, file, target));
    await print(terminal.stdout, shown`installed the hook of ${agent.title} in ${file}`);
    for (const { what, gap } of agent.gaps)
      await print(terminal.stdout, shown`  not covered: ${what}: ${gap}`);
  }
  await print(
    terminal.stdout,
    shown`restart the agents. Questions are answered at the console, with the token in ${join(folder, TOKEN)}, or with: sandgate confirm ${serverUrl(config)} --watch --token-file ${join(folder, TOKEN)}`,
  );
  return EXIT_OK;
}

/** Removes the hook of agents. The config stays. */
export async function uninstallGuard(command: GuardCommand, { stdout }: Terminal): Promise<ExitCode> {
  for (const agent of agentsOf(command.agents)) {
    const file = orUsageError(() => hookFile(agent, homedir(), command.isManaged));
    const isRemoved = orUsageError(() => uninstallHook(agent, file));
    await print(
      stdout,
      shown`${agent.title}: ${isRemoved ? shown`removed the hook from ${file}` : "it has no hook"}`,
    );
  }
  return EXIT_OK;
}

/** Prints for each agent whether its calls are decided on, and what is not covered. */
export async function guardStatus(command: GuardCommand, { stdout }: Terminal): Promise<ExitCode> {
  const config = configOf(command);
  const target = orUsageError(() => targetOf(config));
  const isRunning = await answers(target);
  await print(stdout, shown`config: ${config}`);
  await print(
    stdout,
    shown`process that decides: ${isRunning === true ? "running" : `${isRunning}: the first call starts it`}`,
  );
  if (target.timeout === undefined)
    await print(
      stdout,
      shown`this machine has no program 'timeout': a hook that is stopped from outside lets calls run`,
    );
  let isFine = true;
  for (const agent of agentsOf(command.agents)) {
    const files = [
      join(homedir(), agent.hook.path),
      ...("managed" in agent.hook ? [agent.hook.managed ?? ""] : []),
    ];
    const found = files
      .filter((file) => file !== "")
      .map((file) => ({ file, ...orUsageError(() => hookStatus(agent, file, target)) }))
      .filter(({ isInstalled }) => isInstalled);
    if (found.length === 0) {
      await print(stdout, shown`${agent.title}: no hook: nothing is decided on`);
      isFine &&= command.agents.length === 0;
      continue;
    }
    for (const { file, problems } of found) {
      await print(stdout, shown`${agent.title}: hook in ${file}`);
      for (const problem of problems) await print(stdout, shown`  problem: ${problem}`);
      isFine &&= problems.length === 0;
    }
    for (const { what, gap } of agent.gaps) await print(stdout, shown`  not covered: ${what}: ${gap}`);
  }
  return isFine ? EXIT_OK : EXIT_TOOL_FAILED;
}

/** Returns what answers the hooks, beside a server of sessions with a console, and guards the files of Sandgate and of the agents. */
export function guardedConfig(command: GuardCommand): {
  readonly config: string;
  readonly guard: Pick<GuardOptions, "socket" | "key" | "secret" | "runner">;
} {
  const config = configOf(command);
  const folder = dirname(config);
  orUsageError(() => checkFolder(folder));
  const { key, socket } = { key: readKey(join(folder, KEY)), socket: socketOf(config) };
  const secret = join(folder, SECRET);
  guardFiles([
    { path: join(folder, KEY) },
    { path: secret },
    { path: folder, access: "read", isFolder: true },
    ...AGENTS.flatMap(({ hook, settings }) =>
      [hook.path, ...settings].map((path) => ({
        path: join(homedir(), path),
        access: "read" as const,
        isFolder: true,
      })),
    ),
  ]);
  const runner = [...sandgate(), "run", "--socket", socket, "--key", rawKey(createPublicKey(key))];
  const found = existsSync(secret) && { secret: readFileSync(secret) };
  return { config, guard: { socket, key, runner, ...found } };
}

function configOf({ config }: GuardCommand): string {
  return config === undefined ? join(homedir(), ".config/sandgate/guard/sandgate.yaml") : resolve(config);
}

function socketOf(config: string): string {
  const socket = join(dirname(config), SOCKET);
  if (Buffer.byteLength(socket) <= MAX_SOCKET_BYTES) return socket;
  throw new UsageError(shown`the path of the config is too long for a socket beside it: ${socket}`);
}

/** Words with which this command is started again. */
function sandgate(): readonly string[] {
  const hook = entryFile("guard/hook");
  return [process.execPath, join(dirname(hook), "../cli", `main${extname(hook)}`)];
}

function targetOf(config: string): HookTarget {
  const folder = dirname(config);
  if (!existsSync(join(folder, KEY)))
    throw new UsageError(shown`there is no '${join(folder, KEY)}': run sandgate guard install`);
  const timeout = ["/usr/bin/timeout", "/bin/timeout"].find((path) => existsSync(path));
  return {
    node: process.execPath,
    hook: entryFile("guard/hook"),
    socket: socketOf(config),
    home: homedir(),
    key: rawKey(createPublicKey(readKey(join(folder, KEY)))),
    daemon: [...sandgate(), "guard", "daemon", "--config", config],
    timeout,
    quick: quickHook(folder),
  };
}

function createFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  orUsageError(() => checkFolder(folder));
}

function createSecrets(folder: string): void {
  const create = (name: string, text: () => string | Buffer): void => {
    const file = join(folder, name);
    if (!existsSync(file)) writeFileSync(file, text(), { mode: 0o600, flag: "wx" });
  };
  create(TOKEN, () => randomBytes(32).toString("base64url"));
  create(SECRET, () => randomBytes(32));
  create(KEY, () => generateKeyPairSync("ed25519").privateKey.export({ format: "pem", type: "pkcs8" }));
}

function readKey(file: string): KeyObject {
  try {
    return createPrivateKey(readFileSync(file));
  } catch {
    throw new UsageError(shown`'${file}' cannot be read: run sandgate guard install`);
  }
}

function rawKey(key: KeyObject): string {
  return String(key.export({ format: "jwk" }).x);
}

function newConfig(workspaces: readonly string[]): string {
  const template = readFileSync(new URL("examples/guard/sandgate.yaml", PACKAGE_FOLDER), "utf8");
  return template.replace("workspaces: []", () => `workspaces: ${JSON.stringify(workspaces)}`);
}

/** The address of the server, for people. It is that of the config, which is the user's. */
function serverUrl(config: string): string {
  const [, address = "127.0.0.1:7427"] =
    /^\s*listen:\s*["']?([\w.:[\]-]+)/m.exec(readFileSync(config, "utf8")) ?? [];
  return `http://${address}`;
}

async function answers({ socket, key }: HookTarget): Promise<true | string> {
  try {
    await askGuard({ socket, key }, { ticket: "", command: "" }, 2_000);
    return true;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === "ENOENT" || code === "ECONNREFUSED" ? "not running" : message;
  }
}

function agentsOf(names: readonly string[]): readonly GuardedAgent[] {
  if (names.length === 0) return AGENTS;
  return names.map((name) => {
    const agent = agentNamed(name);
    if (agent !== undefined) return agent;
    throw new UsageError(shown`'${name}' is not one of ${namesOf(AGENTS)}`, {
      word: name,
      known: AGENTS.map((each) => each.name),
    });
  });
}

function namesOf(agents: readonly GuardedAgent[]): string {
  return agents.map(({ name }) => name).join(", ");
}

function orUsageError<Result>(step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    if (error instanceof InstallError || (error instanceof Error && error.message.startsWith("the folder '")))
      throw new UsageError(shown`${error.message}`);
    throw error;
  }
}

/** Options of `sandgate run`. */
interface RunCommand {
  readonly socket: string;
  readonly key: string;
  readonly ticket: string;
  /** For bash. */
  readonly command: string;
}

/** The exit code of shells for a command that cannot be run. */
const EXIT_NOT_RUN = 126;

/** Milliseconds in which the process that decides must say what the ticket allows. */
const REDEEM_MS = 5_000;

/**
 * Runs a command of an agent as it was allowed: in the sandbox `process`, with the grant that its ticket stands for. It reads no
 * config: whoever starts it can do no more than was allowed for exactly this command, once.
 *
 * @returns its exit code, or 126 if it did not run.
 */
export async function runConfined(command: RunCommand, terminal: Terminal): Promise<number> {
  const allowed = await redeem(command);
  if (allowed === undefined) {
    await print(
      terminal.stderr,
      shown`sandgate: this command was not allowed, or ran before: have the agent call its own tool again`,
    );
    return EXIT_NOT_RUN;
  }
  takeGuardedFiles(allowed.guarded);
  const registry = new ToolRegistry();
  for (const tool of guardTools()) if (tool.name === "run_command") registry.register(tool);
  const { limits, capabilities, workspace, cwd } = allowed;
  const grant = { sandbox: "process", limits, capabilities } as const;
  await using sandboxes = await openSandboxes();
  sandboxes.ensureExit();
  const cancelling = new AbortController();
  const cancel = (): void => cancelling.abort();
  process.once("SIGTERM", cancel);
  process.once("SIGHUP", cancel);
  terminal.signal?.addEventListener("abort", cancel);
  const call = {
    id: randomUUID(),
    name: "run_command",
    arguments: JSON.stringify({ command: allowed.command, cwd }),
  };
  const execution = await new ToolDispatchEngine().dispatch(call, {
    registry,
    policy: { check: () => allow(grant), revision: "ticket" },
    sandboxes,
    sessionId: "sandgate run",
    workspace,
    signal: cancelling.signal,
  });
  const output = execution?.output as ProgramCompletion | null | undefined;
  if (execution?.success !== true || output === null || output === undefined) {
    if (execution?.partialOutput !== undefined) terminal.stdout.write(execution.partialOutput);
    await print(terminal.stderr, shown`sandgate: ${execution?.error?.message ?? "the command did not run"}`);
    return EXIT_NOT_RUN;
  }
  await write(terminal.stdout, output.stdout);
  await write(terminal.stderr, output.stderr);
  if (output.note !== undefined) await print(terminal.stderr, shown`sandgate: ${output.note}`);
  return output.exitCode;
}

async function redeem({ socket, key, ticket, command }: RunCommand): Promise<ConfinedCommand | undefined> {
  try {
    return ((await askGuard({ socket, key }, { ticket, command }, REDEEM_MS)) ?? undefined) as
      | ConfinedCommand
      | undefined;
  } catch {
    return undefined;
  }
}

/** What a command writes is for the agent that runs it, as from any shell. */
function write(stream: NodeJS.WritableStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    stream.write(text, () => resolve());
  });
}
