import { createHash, randomBytes, randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, isAbsolute, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { guardFiles } from "../../../../base/guarded-files.ts";
import { isNewerFormat, newerFormatText } from "../../../../base/own-files.ts";
import { PACKAGE_FOLDER } from "../../../../base/package-folder.ts";
import { equalJson, isJsonObject, type JsonObject, type JsonValue } from "../../../../json/value.ts";
import { shown } from "../../../../rendering/shown.ts";
import { EXIT_BAD_INPUT, EXIT_OK, type ExitCode, print, type Terminal } from "../../../terminal.ts";
import { type AddingOptions, addServers } from "./add.ts";
import {
  type ClientConfig,
  ClientConfigError,
  type ClientFormat,
  type ClientServer,
  memberOf,
  ownClientConfigs,
  parseClientConfig,
  readClientConfig,
  showClientConfig,
} from "./client-configs.ts";
import { ConfigFile } from "./config-file.ts";
import type { GivenGrants } from "./new-server.ts";
import { Questions } from "./questions.ts";
import { SecretFiles, secretArguments } from "./secret-files.ts";

/** Options of `sandgate mcp import`. */
interface ImportOptions extends AddingOptions {
  /** The config of a client. Default: those of the user that exist. */
  readonly file: string | undefined;
  /** The names of servers to import. Default: the person at the terminal is asked about each. */
  readonly servers: readonly string[];
  readonly grants: GivenGrants;
  /** Whether Sandgate takes the places of imported servers in the client's config. */
  readonly writesClient: boolean;
  /** Whether that is undone. */
  readonly undoes: boolean;
}

/** Shows the servers of clients' configs, and adds those that a person picks. Nothing else is started. */
export async function importServers(options: ImportOptions, terminal: Terminal): Promise<ExitCode> {
  try {
    return await importPicked(options, terminal);
  } catch (error) {
    if (!(error instanceof ClientConfigError)) throw error;
    await print(terminal.stderr, shown`sandgate: ${error.message}`);
    return EXIT_BAD_INPUT;
  }
}

async function importPicked(
  { file, servers: wanted, grants, writesClient, undoes, ...options }: ImportOptions,
  terminal: Terminal,
): Promise<ExitCode> {
  const { stdout, stderr } = terminal;
  guardFiles([{ path: options.config, access: "read" }]);
  if (undoes) {
    if (file === undefined)
      throw new ClientConfigError("name the client's config of which the change is undone");
    await undoClient(file);
    await print(stdout, shown`${file} is as it was before`);
    return EXIT_OK;
  }
  const files = file === undefined ? ownClientConfigs() : [file];
  if (files.length === 0)
    throw new ClientConfigError(
      "no client's config was found: name one, such as .mcp.json or .vscode/mcp.json",
    );
  const clients: ClientConfig[] = [];
  for (const each of files) {
    try {
      clients.push(await readClientConfig(each));
    } catch (error) {
      // Of several, one can be the config of a client without servers.
      if (file !== undefined || !(error instanceof ClientConfigError)) throw error;
      await print(stderr, shown`sandgate: ${error.message}`);
    }
  }
  for (const client of clients) await print(stdout, showClientConfig(client));
  using questions = new Questions(terminal);
  const known = clients.flatMap(({ servers }) => servers.map(({ name }) => name));
  const missing = wanted.find((name) => !known.includes(name));
  if (missing !== undefined) throw new ClientConfigError(`there is no server '${missing}' in these configs`);
  const picked = await pick(clients, wanted, questions);
  if (picked.length === 0) {
    const how = questions.hasPerson ? "" : ": choose with --server NAME";
    await print(stderr, shown`sandgate: nothing was started or imported${how}`);
    return EXIT_OK;
  }
  const { code, names } = await addServers(picked, grants, options, questions, terminal);
  if (!writesClient) return code;
  for (const client of clients) {
    const added = client.servers.filter((server) => picked.includes(server) && names.includes(server.name));
    if (added.length === 0) continue;
    const originals = added.map(({ original }) => original);
    const backup = await writeClient(client, originals, options.config);
    await print(stdout, shown`${client.file}: 'sandgate' is in the place of ${originals.join(", ")}`);
    await print(
      stderr,
      shown`The backup is ${backup}; 'sandgate mcp import ${client.file} --undo' puts it back`,
    );
  }
  return code;
}

/** Returns the servers that a person picks. Of several with one name, the first. */
async function pick(
  clients: readonly ClientConfig[],
  wanted: readonly string[],
  questions: Questions,
): Promise<readonly ClientServer[]> {
  const names = new Set<string>();
  const picked: ClientServer[] = [];
  for (const { servers } of clients) {
    for (const server of servers) {
      const { name, problem } = server;
      if (names.has(name) || (wanted.length > 0 && !wanted.includes(name))) continue;
      if (problem !== undefined) {
        if (wanted.length > 0) throw new ClientConfigError(`'${name}' cannot be imported: ${problem}`);
        continue;
      }
      if (wanted.length === 0 && !(await questions.confirms(shown`Start '${name}' once, and import it?`)))
        continue;
      names.add(name);
      picked.push(server);
    }
  }
  return picked;
}

/** The name of Sandgate among the servers of a client. */
const OWN_NAME = "sandgate";

/** The format of backups. */
const VERSION = 1;

/** Shorter values are not secrets, and can be parts of other words. */
const MIN_SECRET = 8;

/** A client's config before Sandgate was written into it. Values that may be secrets are in files of their own. */
interface Backup {
  readonly version: typeof VERSION;
  readonly file: string;
  /** The text, with marks in the places of secrets. */
  readonly text: string;
  /** The files of the secrets, by their marks. */
  readonly secrets: Readonly<Record<string, string>>;
  /** SHA-256 of what was written. */
  readonly written: string;
}

/**
 * Replaces servers in the config of a client by Sandgate, after it has made a backup.
 *
 * @param names The original names of the servers.
 * @param config The path of Sandgate's config, with these servers.
 * @returns the path of the backup.
 * @throws {ClientConfigError} if it cannot be written as the client would read it. Nothing is changed then.
 */
export async function writeClient(
  client: ClientConfig,
  names: readonly string[],
  config: string,
): Promise<string> {
  const entry = await ownEntry(client, resolve(config));
  const text =
    client.format === "codex" ? withinToml(client, names, entry) : withinJson(client, names, entry);
  const expected = replaced(contentOf(client, client.text), client.format, names, entry);
  if (!equalJson(contentOf(client, text), expected))
    throw new ClientConfigError(
      `${client.file} is written in a way that cannot be changed here: ${byHand(entry)}`,
    );
  const backup = await makeBackup(client, text, config);
  await replaceFile(client.file, text);
  return backup;
}

/**
 * Undoes the newest change of a client's config.
 *
 * @throws {ClientConfigError} if there is none, or the client's config was changed since.
 */
export async function undoClient(path: string): Promise<void> {
  const file = resolve(path);
  const folder = backupFolder(file);
  const [newest] = existsSync(folder)
    ? (await readdir(folder))
        .filter((name) => name.endsWith(".json"))
        .sort()
        .reverse()
    : [];
  if (newest === undefined) throw new ClientConfigError(`there is no backup of ${path}`);
  const place = join(folder, newest);
  const { version, text, secrets, written } = JSON.parse(await readFile(place, "utf8")) as Backup;
  if (isNewerFormat(version, VERSION))
    throw new ClientConfigError(`${place} ${newerFormatText(version, VERSION)}`);
  const current = await readFile(file, "utf8").catch(() => "");
  if (digestOf(current) !== written)
    throw new ClientConfigError(`${path} was changed since: put back by hand what is in ${place}`);
  let restored = text;
  for (const [mark, secret] of Object.entries(secrets))
    restored = restored.replaceAll(mark, await readFile(secret, "utf8"));
  await replaceFile(file, restored);
  await rm(place);
}

/** How the client reaches Sandgate: as a program, or over HTTP where calls are confirmed at the console. */
async function ownEntry({ file, format }: ClientConfig, config: string): Promise<JsonObject> {
  const opened = await ConfigFile.open(config);
  if (opened.isServed) {
    if (basename(file) === "claude_desktop_config.json")
      throw new ClientConfigError(
        `this client starts programs and connects to no URL: use a config in which the person at the client confirms (--confirm client)`,
      );
    const place = opened.callerToken;
    if (place === undefined)
      throw new ClientConfigError(`${config} names no file with the token of a caller`);
    const token = (await readFile(place, "utf8")).trim();
    const url = `http://${opened.listen}/mcp`;
    const headers = { Authorization: `Bearer ${token}` };
    if (format === "codex") return { url, http_headers: headers };
    return { type: format === "opencode" ? "remote" : "http", url, headers };
  }
  const built = fileURLToPath(new URL("dist/cli/main.js", PACKAGE_FOLDER));
  const main = existsSync(built) ? built : fileURLToPath(new URL("src/cli/main.ts", PACKAGE_FOLDER));
  const args = [main, "mcp", "serve", "--config", config];
  if (format === "opencode") return { type: "local", command: [process.execPath, ...args] };
  return { ...(format === "servers" && { type: "stdio" }), command: process.execPath, args };
}

function contentOf({ file, format }: ClientConfig, text: string): JsonObject {
  return parseClientConfig(text, format === "codex", file);
}

/** A config without servers, and with Sandgate. */
function replaced(
  value: JsonObject,
  format: ClientFormat,
  names: readonly string[],
  entry: JsonObject,
): JsonObject {
  const member = memberOf(format);
  const servers = value[member] as JsonObject;
  const others = Object.entries(servers).filter(([name]) => !names.includes(name) && name !== OWN_NAME);
  return { ...value, [member]: Object.fromEntries([...others, [OWN_NAME, entry]]) };
}

function withinJson(client: ClientConfig, names: readonly string[], entry: JsonObject): string {
  try {
    JSON.parse(client.text);
  } catch {
    throw new ClientConfigError(`${client.file} has comments, which would be lost: ${byHand(entry)}`);
  }
  const value = replaced(contentOf(client, client.text), client.format, names, entry);
  return `${JSON.stringify(value, undefined, /^(?:\t| +)(?=")/m.exec(client.text)?.[0] ?? 2)}\n`;
}

/** Leaves out the tables of servers line by line, so that everything else stays as it is. */
function withinToml({ text }: ClientConfig, names: readonly string[], entry: JsonObject): string {
  const all = [...names, OWN_NAME];
  let isLeftOut = false;
  const lines = text.split("\n").filter((line) => {
    const [, header] = /^\s*\[+\s*([^\]#]+?)\s*\]/.exec(line) ?? [];
    if (header !== undefined)
      isLeftOut = all.some((name) =>
        [name, JSON.stringify(name), `'${name}'`].some((spelt) =>
          `${header}.`.startsWith(`mcp_servers.${spelt}.`),
        ),
      );
    return !isLeftOut;
  });
  const own = Object.entries(entry).map(([name, value]) => `${name} = ${tomlOf(value)}`);
  return `${lines.join("\n").trimEnd()}\n\n[mcp_servers.${OWN_NAME}]\n${own.join("\n")}\n`;
}

/** A JSON text of a string is one of TOML, too. */
function tomlOf(value: JsonValue | undefined): string {
  if (Array.isArray(value)) return `[${value.map(tomlOf).join(", ")}]`;
  if (value !== undefined && isJsonObject(value)) {
    const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)} = ${tomlOf(each)}`);
    return `{ ${members.join(", ")} }`;
  }
  return JSON.stringify(value);
}

function byHand(entry: JsonObject): string {
  const { headers: _, http_headers: _headers, ...shown } = entry;
  return `add a server '${OWN_NAME}' yourself, as ${JSON.stringify(shown)}`;
}

/** Stores the text of a config, with what may be secret in files of its owner. */
async function makeBackup(client: ClientConfig, written: string, config: string): Promise<string> {
  const secrets = new SecretFiles(config);
  const places: Record<string, string> = {};
  const spellings: Record<string, string> = {};
  let { text } = client;
  for (const { original, args = [], env = {}, headers = {} } of client.servers) {
    const areSecret = secretArguments(args);
    const values = [
      ...Object.entries(env),
      ...Object.entries(headers),
      ...args.flatMap((argument, index): [string, string][] =>
        areSecret[index] ? [[`argument-${index + 1}`, argument]] : [],
      ),
    ];
    for (const [name, value] of values) {
      if (value === "") continue;
      // As it is written between quotes.
      const spelt = JSON.stringify(value).slice(1, -1);
      const mark = `{{sandgate:${randomBytes(16).toString("hex")}}}`;
      const marked = text.replaceAll(`"${spelt}"`, `"${mark}"`).replaceAll(`'${value}'`, `'${mark}'`);
      if (marked === text) continue;
      text = marked;
      spellings[mark] = spelt;
      places[mark] = (
        await secrets.write(
          `backup-${original.replace(/[^\w-]/g, "_").slice(0, 32)}`,
          `${name}-${mark.slice(11, 19)}`,
          spelt,
        )
      ).file;
    }
  }
  const restored = Object.entries(spellings).reduce(
    (all, [mark, spelt]) => all.replaceAll(mark, spelt),
    text,
  );
  const isLeft = Object.values(spellings).some((spelt) => spelt.length >= MIN_SECRET && text.includes(spelt));
  if (restored !== client.text || isLeft) {
    await secrets.remove();
    throw new ClientConfigError(
      `${client.file} has secrets in a spelling that no backup can have: change it by hand`,
    );
  }
  const folder = backupFolder(client.file);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const place = join(
    folder,
    `${new Date().toISOString().replace(/[:.]/g, "-")}-${randomUUID().slice(0, 8)}.json`,
  );
  const backup: Backup = {
    version: VERSION,
    file: client.file,
    text,
    secrets: places,
    written: digestOf(written),
  };
  await writeFile(place, `${JSON.stringify(backup, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
  return place;
}

function backupFolder(file: string): string {
  const configured = process.env["XDG_STATE_HOME"] ?? "";
  const state = isAbsolute(configured) ? configured : join(homedir(), ".local", "state");
  return join(state, "sandgate", "mcp", "backups", digestOf(file).slice(0, 16));
}

function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Replaces a file as a whole, and leaves its mode as it is. */
async function replaceFile(file: string, text: string): Promise<void> {
  const { mode } = await stat(file);
  const temporary = `${file}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, text, { mode: mode & 0o777, flag: "wx" });
    await rename(temporary, file);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
