import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rename, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** What a hardened executor is started with. */
export interface HardenedOptions {
  /** The config; the executor may read its folder, and nothing beside the code that it runs. */
  readonly config: string;
  /** The path of the socket on which it takes calls: this user's alone. */
  readonly socket: string;
  /** The user and group that it runs as; needs root. Default: this one. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** The command's module. Default: the installed package's. */
  readonly main?: string;
  /** What the command consists of. Default: the installed package and what is installed beside it. */
  readonly code?: readonly string[];
}

/**
 * Starts an executor under Node's permission model: it can read its code and its config's folder, and can neither
 * write nor start processes, threads or addons; its environment is empty, and it gives the network up. The socket
 * is made here and handed down, so that the executor may be another user.
 *
 * @returns the process, once it takes calls.
 */
export async function startHardened(options: HardenedOptions): Promise<ChildProcess> {
  const { main = installed().main, code = installed().code, config, socket, user } = options;
  const listener = await listen(`${socket}.new`);
  const readable = [...code, dirname(resolve(config))];
  const quiet = "--disable-warning=ExperimentalWarning";
  const flags = ["--permission", "--allow-net", quiet, ...readable.map((path) => `--allow-fs-read=${path}`)];
  const child = spawn(
    process.execPath,
    [...flags, "--max-old-space-size=256", main, "serve", "--config", resolve(config), "--listen", "fd:3"],
    {
      cwd: dirname(resolve(config)),
      env: {},
      stdio: ["ignore", "pipe", "inherit", descriptorOf(listener)],
      ...user,
    },
  );
  // Its first name goes with the listener; this one stays with the executor.
  await rename(`${socket}.new`, socket);
  listener.close();
  child.once("exit", () => void rm(socket, { force: true }));
  await Promise.race([
    once(child.stdout ?? child, "data"),
    once(child, "exit").then(([status]) => {
      throw new Error(`the executor ended with ${status}`);
    }),
  ]);
  return child;
}

async function listen(path: string): Promise<Server> {
  await rm(path, { force: true });
  const server = createServer();
  const listening = once(server, "listening");
  const before = process.umask(0o177);
  server.listen(path);
  process.umask(before);
  await listening;
  return server;
}

/** Node has no public name for it. */
function descriptorOf(server: Server): number {
  return (server as unknown as { readonly _handle: { readonly fd: number } })._handle.fd;
}

function installed(): { readonly main: string; readonly code: readonly string[] } {
  const root = dirname(fileURLToPath(import.meta.resolve("sandgate/package.json")));
  const [beside] = /^.*[\\/]node_modules(?=[\\/])/.exec(root) ?? [];
  return {
    main: join(root, "dist/cli/main.js"),
    code: [beside ?? join(root, "node_modules"), join(root, "dist"), join(root, "package.json")],
  };
}
