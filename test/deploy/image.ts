import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { buildImage, missingForImages } from "../../scripts/image.ts";

/** The user of the image. */
const USER = 10_001;

const TOKEN = "a-token-that-is-long-enough-for-the-server";

const CONFIG = `
tools:
  - name: shout
    description: Writes a text in capitals
    inputSchema: { type: object, properties: { text: { type: string } }, required: [text] }
    sideEffects: none
    quickjs: { source: "export default ({ text }) => text.toUpperCase()" }
policy: { rules: [{ tools: [shout], effect: allow, sandboxes: [quickjs], limits: { wallTime: 10s, memory: 32MiB } }] }
journal: { directory: /var/lib/sandgate/journal }
log: { format: json }
server:
  listen: 127.0.0.1:0
  sessions: true
  credentials: [{ id: agent, token: { file: token }, roles: [caller] }]
  limits: { drainDelay: 10ms, drainTime: 5s }
`;

/** A server in a container of the image. */
interface Container {
  readonly address: string;
  readonly log: readonly { readonly event: string; readonly message?: string }[];
  readonly state: string;
  /** Runs a program in the container, as its user. */
  run(...args: string[]): { readonly status: number | null; readonly text: string };
  /** Sends SIGTERM, and returns the exit code. */
  stop(): Promise<number | null>;
}

/** Starts the image as deploy/ does: its user, a read-only root, no capabilities; on the network of this machine. */
async function startContainer(work: string, bundle: string): Promise<Container> {
  const [etc, state] = [join(work, "etc"), join(work, "state")];
  for (const folder of [etc, state]) mkdirSync(folder, { mode: 0o755 });
  chownSync(state, USER, USER);
  for (const [name, text] of Object.entries({ "sandgate.yaml": CONFIG, token: TOKEN })) {
    writeFileSync(join(etc, name), text);
    chownSync(join(etc, name), USER, USER);
  }
  const file = join(bundle, "config.json");
  const spec = JSON.parse(readFileSync(file, "utf8"));
  const bind = (source: string, destination: string, access: string): object => {
    return { type: "bind", source, destination, options: ["bind", access] };
  };
  spec.root.readonly = true;
  Object.assign(spec.process, { terminal: false, rlimits: [], capabilities: {}, noNewPrivileges: true });
  spec.linux.namespaces = spec.linux.namespaces.filter(({ type }: { type: string }) => type !== "network");
  spec.mounts.push(bind(etc, "/etc/sandgate", "ro"), bind(state, "/var/lib/sandgate", "rw"));
  spec.mounts.push({ type: "tmpfs", source: "tmpfs", destination: "/tmp", options: ["mode=1777"] });
  writeFileSync(file, JSON.stringify(spec));
  const id = `sandgate-test-${process.pid}`;
  const runc = ["--root", join(work, "runc")];
  const server: ChildProcess = spawn("runc", [...runc, "run", "--bundle", bundle, id], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => void spawnSync("runc", [...runc, "delete", "--force", id]));
  if (server.stdout === null || server.stderr === null) throw new Error("the streams are pipes");
  const log: { event: string; message?: string }[] = [];
  const others: string[] = [];
  createInterface({ input: server.stderr }).on("line", (line) => {
    if (line.startsWith("{")) log.push(JSON.parse(line));
    else others.push(line);
  });
  const exit = once(server, "exit");
  const ended = exit.then(([code]) => [`it ended with ${code}: ${others.join("\n")} ${JSON.stringify(log)}`]);
  const [line] = await Promise.race([once(createInterface({ input: server.stdout }), "line"), ended]);
  expect(line).toMatch(/^listening on /);
  return {
    address: `http://${String(line).replace("listening on ", "")}`,
    log,
    state,
    run: (...args) => {
      const { status, stdout, stderr } = spawnSync("runc", [...runc, "exec", id, ...args], {
        encoding: "utf8",
      });
      return { status, text: stdout + stderr };
    },
    stop: async () => {
      execFileSync("runc", [...runc, "kill", id, "TERM"]);
      const [code] = await exit;
      return code;
    },
  };
}

const reason = existsSync("dist/cli/main.js") ? missingForImages(true) : "npm run build has not run";
if (reason !== undefined) console.warn(`The image is not tested: ${reason}`);

describe.skipIf(reason !== undefined)("The image", () => {
  const work = mkdtempSync(join(tmpdir(), "sandgate-image-test-"));
  const bundle = join(work, "bundle");
  const installed = join(bundle, "rootfs/opt/sandgate/node_modules");

  beforeAll(() => {
    const pack = ["pack", "--silent", "--ignore-scripts", "--pack-destination", work];
    const tarball = execFileSync("npm", pack, { encoding: "utf8" }).trim();
    const archive = buildImage(join(work, tarball), work);
    const layout = join(work, "layout");
    mkdirSync(layout);
    execFileSync("tar", ["--extract", "--file", archive, "--directory", layout]);
    const { version } = JSON.parse(readFileSync("package.json", "utf8"));
    execFileSync("umoci", ["unpack", "--image", `${layout}:${version}`, bundle]);
    return () => rmSync(work, { recursive: true });
  });

  test("serves as a user that is not root, writes only its state, and ends on SIGTERM", async () => {
    const container = await startContainer(work, bundle);
    for (const path of ["/healthz", "/readyz"]) {
      expect((await fetch(container.address + path)).status, path).toBe(200);
    }
    // What deploy/compose.yaml has Docker ask.
    const { healthcheck } = parse(readFileSync("deploy/compose.yaml", "utf8")).services.sandgate;
    const [how, ...command] = healthcheck.test as readonly string[];
    const asked = command.map((word) => word.replace("http://127.0.0.1:7420", container.address));
    expect([how, container.run(...asked)]).toEqual(["CMD", { status: 0, text: "" }]);
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
    const opened = await fetch(`${container.address}/v1/sessions`, { method: "POST", headers, body: "{}" });
    expect(opened.status).toBe(201);
    const written = ["/opt", "/etc/sandgate", "/var/lib/sandgate", "/tmp"].map((folder) => {
      const program = `fs.writeFileSync('${folder}/new', ''); console.log(process.getuid(), process.getgid())`;
      return container.run("node", "-e", program).text.match(/EROFS|EACCES|^10001 10001$/m)?.[0];
    });
    expect(written).toEqual(["EROFS", "EROFS", "10001 10001", "10001 10001"]);
    const store = statSync(join(container.state, "sandgate-sessions.db"));
    expect([store.uid, store.mode & 0o777]).toEqual([USER, 0o600]);
    expect(readdirSync(join(container.state, "journal")).some((name) => name.endsWith(".jsonl"))).toBe(true);
    expect(await container.stop()).toBe(0);
    expect(container.log.map(({ event }) => event)).toEqual(
      expect.arrayContaining(["server.started", "server.stopping", "server.stopped"]),
    );
  });

  test("has a folder for the state that its user owns, and names of users, groups and Debian's packages", () => {
    const root = join(bundle, "rootfs");
    const { uid, gid, mode } = statSync(join(root, "var/lib/sandgate"));
    expect([uid, gid, mode & 0o777]).toEqual([USER, USER, 0o755]);
    expect(readFileSync(join(root, "etc/passwd"), "utf8")).toContain(`:${USER}:${USER}:`);
    expect(readFileSync(join(root, "var/lib/dpkg/status.d/libc6"), "utf8")).toMatch(/^Version: /m);
  });

  test("has the packages that a config can name, each in the version of the lock", () => {
    const { packages } = JSON.parse(readFileSync("package-lock.json", "utf8"));
    const found = readdirSync(installed, { recursive: true, encoding: "utf8" })
      .filter((path) => /^(?:.*\/node_modules\/)?(?:@[^/]+\/)?[^/]+\/package\.json$/.test(path))
      .map((path) => path.replace(/\/package\.json$/, ""))
      .filter((path) => path !== "sandgate");
    const { peerDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
    const peers = Object.keys(peerDependencies).filter((peer) => !["piscina", "typescript"].includes(peer));
    expect(found).toEqual(expect.arrayContaining(peers));
    const versions = found.map((path) => [
      path,
      JSON.parse(readFileSync(join(installed, path, "package.json"), "utf8")).version,
    ]);
    const locked = found.map((path) => [path, packages[`node_modules/${path}`]?.version]);
    expect(versions).toEqual(locked);
    expect(existsSync(join(bundle, "rootfs/usr/local/lib/node_modules/npm"))).toBe(false);
  });
});
