import { guardFiles } from "../../../../base/guarded-files.ts";
import { shown } from "../../../../rendering/shown.ts";
import { EXIT_BAD_INPUT, EXIT_OK, type ExitCode, print, type Terminal } from "../../../terminal.ts";
import { type AddingOptions, addServers } from "./add.ts";
import { undoClient, writeClient } from "./client-backup.ts";
import {
  type ClientConfig,
  ClientConfigError,
  type ClientServer,
  ownClientConfigs,
  readClientConfig,
  showClientConfig,
} from "./client-configs.ts";
import type { GivenGrants } from "./new-server.ts";
import { Questions } from "./questions.ts";

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
