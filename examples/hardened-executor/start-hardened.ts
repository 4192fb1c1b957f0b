import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rename, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

/** Options of {@link startHardened}. */
export interface HardenedOptions {
  /** The path of the config file. Besides its own code, the executor can only read this file's folder. */
  readonly config: string;
  /** The path of the Unix socket to listen on. Only the current user can connect to it. */
  readonly socket: string;
  /** The user and group to run as; requires root. Default: the current ones. */
  readonly user?: { readonly uid: number; readonly gid: number } | undefined;
  /** The path of the command's main module. Default: that of the installed package. */
  readonly main?: string;
  /** Paths that contain the command's code. Default: the installed package and its dependencies. */
  readonly code?: readonly string[];
}

/**
 * Starts an executor under Node's permission model. It can read its code and its config's folder, but cannot write
 * files or start processes, threads or addons. Its environment is empty and it drops the network. The socket is
 * created here and inherited, because the executor may run as another user.
 *
 * @returns the process, once it accepts calls.
 * @throws {Error} if the executor exits before.
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
  // Closing the listener unlinks the path that it was bound to. The executor keeps using the renamed socket.
  await rename(`${socket}.new`, socket);
  listener.close();
  child.once("exit", () => void rm(socket, { force: true }));
  await Promise.race([
    once(child.stdout ?? child, "data"),
    once(child, "exit").then(([status]) => {
      throw new Error(`the executor exited with status ${status}`);
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

/** Returns the server's file descriptor, for which Node.js has no public API. */
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
