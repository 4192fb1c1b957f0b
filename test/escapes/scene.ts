import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * What attempts want to reach: a directory besides the workspace with a secret, servers that listen on sockets, and a
 * process. Scripts have the paths and numbers of all of it as variables.
 */
export class Scene implements AsyncDisposable {
  /** Has the workspace, `work`, and the directory besides it, `outside`. */
  readonly folder: string = mkdtempSync(join(tmpdir(), "sandgate-escape-"));
  readonly workspace: string = join(this.folder, "work");
  readonly outside: string = join(this.folder, "outside");
  /** A number that no other scene has: for keys, ports' names and durations of `sleep`. */
  readonly number: number = 100_000_000 + (randomBytes(4).readUInt32LE() % 900_000_000);
  readonly #secret = `secret-${randomBytes(12).toString("hex")}`;
  readonly #servers: Server[] = [];
  readonly #victim: ChildProcess;
  #before: string;
  #contacts = 0;
  #port = 0;

  static async open(before: string | undefined): Promise<Scene> {
    const scene = new Scene();
    for (const address of [scene.#path("docker.sock"), `\0sandgate-${scene.number}`, 0])
      await scene.#listen(address);
    if (before !== undefined) scene.unconfined(before);
    scene.#before = scene.#state();
    return scene;
  }

  private constructor() {
    mkdirSync(this.workspace);
    mkdirSync(this.outside);
    writeFileSync(this.#path("secret"), this.#secret);
    writeFileSync(join(this.workspace, "file"), "file");
    writeFileSync(this.#path("script"), "#!/bin/sh\necho OUT\n");
    chmodSync(this.#path("script"), 0o755);
    this.#victim = spawn("sleep", ["1000"], { env: { CANARY: this.#secret }, cwd: this.outside });
    this.#before = this.#state();
  }

  /** The variables of scripts, as assignments. */
  variables(tools: string): string {
    return Object.entries({
      TOOLS: tools,
      OUTSIDE: this.outside,
      WORK: this.workspace,
      VICTIM: this.#victim.pid,
      NUMBER: this.number,
      PORT: this.#port,
    })
      .map(([name, value]) => `${name}='${value}'; `)
      .join("");
  }

  /** Runs a script with everything that this process may do. Returns what it printed. */
  unconfined(script: string, tools = ""): string {
    const { pid } = this.#victim;
    try {
      return execFileSync("/bin/sh", ["-c", this.variables(tools) + script], {
        cwd: this.workspace,
        env: { PATH: process.env["PATH"], CANARY: this.#secret },
        timeout: 10_000,
        stdio: ["ignore", "pipe", "pipe"],
        encoding: "utf8",
      });
    } catch (error) {
      const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
      return `${stdout}${stderr} (victim ${pid})`;
    }
  }

  /** Why an attempt that printed this is out; `undefined` if it is not. */
  async escape(printed: string): Promise<string | undefined> {
    // A connection, and the end of a process, come to be known in a later turn.
    await new Promise((resolve) => setTimeout(resolve, 5));
    if (/^OUT$/m.test(printed)) return "it says so";
    if (printed.includes(this.#secret)) return "it has the secret";
    if (this.#contacts > 0) return "it has connected";
    if (this.#victim.exitCode !== null || this.#victim.signalCode !== null) return "it has killed a process";
    if (this.#state() !== this.#before) return "it has changed a file";
    if (this.#survivors().length > 0) return "it has left a process";
    return undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#victim.kill("SIGKILL");
    for (const pid of this.#survivors()) process.kill(pid, "SIGKILL");
    await Promise.all(this.#servers.map((server) => new Promise((resolve) => server.close(resolve))));
    rmSync(this.folder, { recursive: true, force: true });
  }

  #path(name: string): string {
    return join(this.outside, name);
  }

  async #listen(address: string | number): Promise<void> {
    const server = createServer((socket) => {
      this.#contacts++;
      socket.on("error", () => {}).destroy();
    });
    this.#servers.push(server);
    const listening = typeof address === "string" ? { path: address } : { port: 0, host: "127.0.0.1" };
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(listening, resolve));
    const bound = server.address();
    if (bound !== null && typeof bound === "object") this.#port = bound.port;
  }

  /** The entries and attributes of everything outside the workspace, and of what is protected in it. */
  #state(): string {
    if (!existsSync(this.outside)) return "removed";
    const parts = [this.folder, this.outside, ...readdirSync(this.outside).map((name) => this.#path(name))];
    const attributes = parts.map((path) => {
      const { mode, nlink, mtimeMs, uid, gid, size } = statSync(path, { throwIfNoEntry: false }) ?? {};
      return [path, mode, nlink, path === this.folder ? 0 : mtimeMs, uid, gid, size];
    });
    const protectedPlaces = [
      ".git/hooks/pre-commit",
      ".git/config",
      ".ssh/authorized_keys",
      ".bashrc",
      "sub/.git/config",
    ];
    const texts = protectedPlaces.map((place) => {
      const path = join(this.workspace, place);
      return existsSync(path) ? readFileSync(path, "utf8") : undefined;
    });
    return JSON.stringify([attributes, readdirSync(this.outside), texts]);
  }

  /** Processes that sleep for the scene's number. */
  #survivors(): readonly number[] {
    const found: number[] = [];
    for (const pid of readdirSync("/proc")) {
      if (!/^\d+$/.test(pid)) continue;
      try {
        if (readFileSync(`/proc/${pid}/cmdline`, "latin1").includes(`sleep\0${this.number}`))
          found.push(Number(pid));
      } catch {
        // It has ended meanwhile.
      }
    }
    return found;
  }
}
