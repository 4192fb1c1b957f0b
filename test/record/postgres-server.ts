import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, openSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import postgres from "postgres";
import { freePorts } from "../restate/free-ports.ts";

/** Where Debian has the programs of the server, the newest version first. */
function findPrograms(): string | undefined {
  const root = "/usr/lib/postgresql";
  if (!existsSync(root)) return undefined;
  const versions = readdirSync(root).sort((one, other) => Number(other) - Number(one));
  return versions.map((version) => join(root, version, "bin")).find((bin) => existsSync(join(bin, "initdb")));
}

const PROGRAMS = findPrograms();

/** Why no server can be started; `undefined` if one can. */
export const NO_POSTGRES: string | undefined =
  PROGRAMS === undefined
    ? "no PostgreSQL server in /usr/lib/postgresql: install Debian's postgresql-15"
    : undefined;
if (NO_POSTGRES !== undefined) console.log(`skipped the tests on PostgreSQL: ${NO_POSTGRES}`);

/** It refuses to run as root. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** A server of PostgreSQL with an empty database. */
export interface PostgresServer extends AsyncDisposable {
  readonly url: string;
  /** That of its first process. */
  readonly pid: () => number;
  /** Returns the name of a schema that does not exist. */
  readonly newSchema: () => string;
  /** Kills the server with -9, or one of its processes that serves a connection, and resolves when it has recovered from that. */
  readonly kill: (which: "server" | "connection") => Promise<void>;
  /** Starts the server again, and resolves when it accepts connections. */
  readonly start: () => Promise<void>;
}

export async function startPostgres(): Promise<PostgresServer> {
  const [port] = await freePorts(1);
  const folder = mkdtempSync(join(tmpdir(), "sgpg-"));
  if (NOBODY.uid !== undefined) chownSync(folder, NOBODY.uid, NOBODY.gid);
  const data = join(folder, "data");
  const program = (name: string): string => join(PROGRAMS as string, name);
  const arguments_ = ["-D", data, "-U", "sg", "-A", "trust", "--no-sync", "-E", "UTF8", "--no-locale"];
  execFileSync(program("initdb"), arguments_, { ...NOBODY, cwd: folder, stdio: "ignore" });
  const url = `postgres://sg@127.0.0.1:${port}/postgres`;
  let server: ChildProcess | undefined;
  let schemas = 0;

  async function start(): Promise<void> {
    const log = openSync(join(folder, "log"), "a");
    const options = [
      "-D",
      data,
      "-k",
      folder,
      "-p",
      String(port),
      "-c",
      "listen_addresses=127.0.0.1",
      "-c",
      "max_connections=200",
    ];
    for (;;) {
      server = spawn(program("postgres"), options, { ...NOBODY, cwd: folder, stdio: ["ignore", log, log] });
      while (server.exitCode === null && server.signalCode === null) {
        if (await accepts()) return;
        await sleep(50);
      }
      // Processes of the one before live for a moment.
      await sleep(100);
    }
  }

  async function accepts(): Promise<boolean> {
    const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => {} });
    try {
      await sql`SELECT 1`;
      return true;
    } catch {
      return false;
    } finally {
      await sql.end({ timeout: 1 });
    }
  }

  /** The processes of the server that serve connections. */
  function connections(): readonly number[] {
    const pids = execFileSync("ps", ["-o", "pid=,args=", "--ppid", String(server?.pid)], {
      encoding: "utf8",
    });
    return pids
      .split("\n")
      .filter((line) => / sg postgres /.test(line))
      .map((line) => Number.parseInt(line, 10));
  }

  async function killServer(): Promise<void> {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const exited = once(server, "exit");
    server.kill("SIGKILL");
    await exited;
  }

  await start();
  return {
    url,
    pid: () => server?.pid ?? 0,
    newSchema: () => `schema_${++schemas}`,
    start,
    kill: async (which) => {
      if (which === "server") return killServer();
      const pids = connections();
      const pid = pids[Math.floor(Math.random() * pids.length)];
      if (pid === undefined) return;
      process.kill(pid, "SIGKILL");
      // The server ends the others, too, and recovers.
      await sleep(20);
      while (!(await accepts())) await sleep(50);
    },
    [Symbol.asyncDispose]: async () => {
      await killServer();
      await sleep(100);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}
