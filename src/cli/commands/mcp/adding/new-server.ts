import { existsSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, isAbsolute, join, resolve } from "node:path";
import { ConfigError, type ConfigProblem } from "../../../../config/problem.ts";
import { ConfigSource } from "../../../../config/source.ts";
import type { JsonObject } from "../../../../json/value.ts";
import { joinShown, type ShownText, shown } from "../../../../rendering/shown.ts";
import { loadMcp } from "../../../config/load-mcp.ts";
import { loadSandboxOptions } from "../../../config/load-sandboxes.ts";
import { print, type Terminal } from "../../../terminal.ts";
import { serverText, type WrittenServer } from "./config-file.ts";
import { type InstallOptions, installPackage, wantedPackage } from "./install-package.ts";
import type { Questions } from "./questions.ts";
import { type SecretFiles, secretArguments } from "./secret-files.ts";
import { type NeededGrant, type Trial, tryServer } from "./try-server.ts";

/** A server as a client's config or a command line has it. */
export interface FoundServer {
  readonly name: string;
  readonly command?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Variables that it gets from Sandgate's environment at each start: the names there, by its own names of them. */
  readonly passed?: Readonly<Record<string, string>>;
  readonly url?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The variable of Sandgate's environment that has the bearer token for the URL. */
  readonly bearer?: string;
}

/** What a person grants on the command line. */
export interface GivenGrants {
  /** Files and directories that can be read. */
  readonly read: readonly string[];
  /** Files and directories that can also be written. */
  readonly write: readonly string[];
  readonly net: readonly string[];
  /** Address ranges that are not public and that the host of a URL may have. */
  readonly address: readonly string[];
  /** `NAME`, a variable of Sandgate's environment, or `NAME=VALUE`. */
  readonly env: readonly string[];
}

/** A server that was started once, and what is to be written for it. */
export interface TriedServer {
  readonly server: WrittenServer;
  readonly trial: Trial;
  /** What it was refused, and was not granted. */
  readonly refused: readonly NeededGrant[];
}

interface Context extends InstallOptions {
  /** The path of the config, beside which the server is written. */
  readonly config: string;
  readonly secrets: SecretFiles;
  readonly questions: Questions;
  readonly terminal: Terminal;
}

const SCRIPT = /\.(?:[cm]?[jt]s|py|rb|sh)$/;

/** Maximum length of a path on Linux. */
const MAX_PATH = 4_096;

/** How often a server is started: again only after it was granted what it lacked. */
const MAX_STARTS = 3;

/**
 * Prepares a server: installs its package, writes its secrets to files, and starts it once without network.
 * The person at the terminal is asked for each grant that it would need; without one, only what is given is
 * granted.
 *
 * @throws {PackageProblem} if its package cannot be installed.
 * @throws {ConfigError} if a config cannot have such a server.
 */
export async function prepareServer(
  found: FoundServer,
  given: GivenGrants,
  context: Context,
): Promise<TriedServer> {
  const { questions, terminal } = context;
  let server = await written(found, given, context);
  for (const { where, ...place } of placesAmong(found, given)) {
    const need: NeededGrant = { kind: "fs", ...place, write: true };
    if (!covers(server, place.path))
      server = granted(server, need, await askFor(need, found.name, questions, where));
  }
  for (let start = 1; ; start++) {
    await print(
      terminal.stderr,
      shown`starting '${found.name}' once, confined${server.url === undefined ? " and without network" : ""} …`,
    );
    const trial = await tryOnce(found.name, server, context);
    const refused: NeededGrant[] = [];
    let isChanged = false;
    for (const need of trial.needs) {
      const answer = await askFor(need, found.name, questions, "was missing for");
      if (answer === undefined) refused.push(need);
      else {
        server = granted(server, need, answer);
        isChanged = true;
      }
    }
    if (trial.problem === undefined || !isChanged || start === MAX_STARTS) return { server, trial, refused };
  }
}

/** Writes a server as a config has it. */
async function written(found: FoundServer, given: GivenGrants, context: Context): Promise<WrittenServer> {
  const { secrets } = context;
  const { name, command, url, headers = {}, args = [] } = found;
  const env: Record<string, { readonly file: string } | { readonly env: string }> = {};
  for (const [variable, value] of Object.entries(found.env ?? {}))
    env[variable] = await secrets.write(name, variable, value);
  for (const [variable, own] of Object.entries(found.passed ?? {})) env[variable] = { env: own };
  for (const text of given.env) {
    const at = text.indexOf("=");
    const variable = at === -1 ? text : text.slice(0, at);
    env[variable] = at === -1 ? { env: text } : await secrets.write(name, variable, text.slice(at + 1));
  }
  if (url !== undefined) {
    const sent: Record<string, { readonly file: string }> = {};
    for (const [header, value] of Object.entries(headers))
      sent[header] = await secrets.write(name, header, value);
    if (secretArguments([url])[0])
      await print(
        context.terminal.stderr,
        shown`The URL of '${name}' has what looks like a secret, which will stand in the config`,
      );
    return {
      url,
      ...(given.address.length > 0 && { addresses: given.address }),
      ...(Object.keys(sent).length > 0 && { headers: sent }),
      ...(found.bearer !== undefined && { bearer: { env: found.bearer } }),
    };
  }
  const wanted = wantedPackage(command ?? "", args);
  const program = wanted === undefined ? findProgram(command ?? "") : await packageOf(wanted, context);
  const absolute = (wanted?.args ?? args.map(absoluteScript)).map(absoluteArgument);
  const areSecret = secretArguments(absolute);
  const named: (string | { readonly file: string })[] = [];
  for (const [index, argument] of absolute.entries())
    named.push(areSecret[index] ? await secrets.write(name, `argument-${index + 1}`, argument) : argument);
  const fs = [
    ...given.write.map((path) => grantOf(resolve(path), true)),
    ...given.read.map((path) => grantOf(resolve(path), false)),
    ...(program.fs ?? []),
  ];
  return {
    ...program,
    ...(named.length > 0 && { args: named }),
    ...(Object.keys(env).length > 0 && { env }),
    ...(fs.length > 0 ? { fs } : {}),
    ...(given.net.length > 0 && { net: given.net }),
  };
}

async function packageOf(
  wanted: NonNullable<ReturnType<typeof wantedPackage>>,
  context: Context,
): Promise<WrittenServer> {
  await print(context.terminal.stderr, shown`installing ${wanted.name}@${wanted.version} …`);
  const { name, version } = await installPackage(wanted, context);
  return { package: `npm:${name}@${version}`, ...(wanted.bin !== undefined && { bin: wanted.bin }) };
}

/** A program of this machine: of the system, or granted as a file. */
function findProgram(command: string): Pick<WrittenServer, "command" | "fs"> {
  const places = command.includes("/")
    ? [absoluteArgument(command)]
    : (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, command));
  const place = places.find((path) => isAbsolute(path) && existsSync(path));
  if (place === undefined) return { command };
  if (/^\/(?:usr|bin|lib)\//.test(place)) return { command: place };
  const file = realpathSync(place);
  return { command: file, fs: [{ file, at: file }] };
}

function absoluteArgument(argument: string): string {
  if (argument.startsWith("~/")) return join(homedir(), argument.slice(2));
  return /^\.{1,2}(?:\/|$)/.test(argument) ? resolve(argument) : argument;
}

/** A script beside the command line that starts it, as `node server.js` names one. */
function absoluteScript(argument: string): string {
  return SCRIPT.test(argument) && existsSync(argument) ? resolve(argument) : argument;
}

/** A file or a directory that a server is given by its name. */
interface NamedPlace {
  readonly path: string;
  readonly isFile: boolean;
  /** Where it is named, before the name of the server. */
  readonly where: string;
}

/**
 * Finds the files and directories among the arguments and variables of a server. For a script, it is the folder of its package,
 * and for a file in a variable that does not exist yet, the folder that it would be in.
 */
function placesAmong(
  { command = "", args = [], env = {} }: FoundServer,
  given: GivenGrants,
): readonly NamedPlace[] {
  const isPackage = wantedPackage(command, args) !== undefined;
  const named = args.flatMap((argument): NamedPlace[] => {
    const named = argument.replace(/^--?[\w-]+=/, "");
    const path = absoluteArgument(isPackage ? named : absoluteScript(named));
    const where = "is among the arguments of";
    const stat = isAbsolute(path) && path !== "/" ? statSync(path, { throwIfNoEntry: false }) : undefined;
    if (stat === undefined) return [];
    const isScript = !isPackage && SCRIPT.test(path);
    return [
      isScript ? { path: packageFolder(path), isFile: false, where } : { path, isFile: stat.isFile(), where },
    ];
  });
  const assigned = given.env.flatMap((text): [string, string][] => {
    const [, name, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value]];
  });
  for (const [variable, value] of [...Object.entries(env), ...assigned]) {
    if (!isAbsolute(value) || value.length > MAX_PATH) continue;
    const path = existsSync(value) ? value : dirname(value);
    const stat = path === "/" ? undefined : statSync(path, { throwIfNoEntry: false });
    if (stat !== undefined)
      named.push({ path, isFile: stat.isFile(), where: `is in the variable ${variable} of` });
  }
  return named;
}

/** The nearest folder above a script that has a manifest, or else the script's own one. */
function packageFolder(script: string): string {
  const own = dirname(script);
  for (let folder = own; folder !== dirname(folder); folder = dirname(folder)) {
    if (["package.json", "pyproject.toml"].some((name) => existsSync(join(folder, name)))) return folder;
  }
  return own;
}

function grantOf(path: string, write: boolean): JsonObject {
  const isFile = statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  return { [isFile ? "file" : "directory"]: path, at: path, ...(write && { write: true }) };
}

function covers({ fs = [] }: WrittenServer, path: string): boolean {
  return fs.some(({ directory, file }) => {
    const place = String(directory ?? file);
    return path === place || path.startsWith(`${place}/`);
  });
}

/** Returns `"read"`, `"write"` or `"yes"`; `undefined` if the person does not grant it. */
async function askFor(
  need: NeededGrant,
  name: string,
  questions: Questions,
  where: string,
): Promise<"read" | "write" | "yes" | undefined> {
  if (!questions.hasPerson) return undefined;
  if (need.kind === "net")
    return (await questions.confirms(shown`'${name}' tried to reach ${need.origin}. Grant it?`))
      ? "yes"
      : undefined;
  if (need.kind === "env") return undefined;
  const answer = await questions.ask(
    shown`${need.path} ${where} '${name}'. May it read it (r), also write it (w), or neither? [r/w/N]`,
  );
  return /^w(rite)?$/i.test(answer) ? "write" : /^r(ead)?$/i.test(answer) ? "read" : undefined;
}

function granted(
  server: WrittenServer,
  need: NeededGrant,
  answer: "read" | "write" | "yes" | undefined,
): WrittenServer {
  if (answer === undefined || need.kind === "env") return server;
  if (need.kind === "net") return { ...server, net: [...(server.net ?? []), need.origin] };
  return { ...server, fs: [grantOf(need.path, answer === "write"), ...(server.fs ?? [])] };
}

/** Starts a server as a config with it would. */
async function tryOnce(name: string, server: WrittenServer, { config, secrets }: Context): Promise<Trial> {
  const text = JSON.stringify({ mcp: { servers: { [name]: server } } });
  const source = ConfigSource.parse(text, config);
  const problems: ConfigProblem[] = [];
  const { servers } = await loadMcp(source, problems);
  const options = servers[name];
  // The positions are those of a text that nobody sees.
  const errors = problems
    .filter(({ severity }) => severity === "error")
    .map((problem) => ({ ...problem, line: 1, column: 1 }));
  if (options === undefined || errors.length > 0) throw new ConfigError(errors);
  const sandboxes = await loadSandboxOptions(await ownSource(config), []);
  return tryServer(name, options, sandboxes, (text) => secrets.hide(text));
}

/** The config itself, whose sandboxes are used, if it exists. */
async function ownSource(config: string): Promise<ConfigSource> {
  if (!existsSync(config)) return ConfigSource.parse("{}", config);
  const { readConfigFile } = await import("../../../../config/source.ts");
  return readConfigFile(config);
}

/**
 * Shows what a server has, what it was refused, and what is written for it. Only the names of secrets are
 * shown.
 */
export function showTried(name: string, { server, trial, refused }: TriedServer): ShownText {
  const { problem, tools, remarks } = trial;
  const lines = [
    problem === undefined
      ? shown`'${name}' has ${tools.size} ${tools.size === 1 ? "tool" : "tools"}:`
      : shown`'${name}' cannot be used yet: ${problem}`,
    ...Array.from(tools, ([tool, sideEffects]) => shown`  ${tool}: ${sideEffects}`),
    ...remarks.map((remark) => shown`  ${remark}`),
    ...(refused.length > 0 ? [shown`it was refused what follows, and would need:`] : []),
    ...refused.map((need) => shown`  ${neededText(need)}`),
    ...serverText(server)
      .split("\n")
      .map((line) => shown`  | ${line}`),
  ];
  return joinShown(lines, "\n");
}

function neededText(need: NeededGrant): string {
  if (need.kind === "net") return `net: [${need.origin}], or: --net ${need.origin}`;
  if (need.kind === "env") return `env: { ${need.name}: { env: ${need.name} } }, or: --env ${need.name}`;
  const { path, isFile, write } = need;
  const entry = `{ ${isFile ? "file" : "directory"}: ${path}, at: ${path}${write ? ", write: true" : ""} }`;
  return `fs: [${entry}], or: --${write ? "write" : "read"} ${path}`;
}
