import { type ChildProcess, spawn } from "node:child_process";
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";
import { createFolder, sandgate } from "../../cli/sandgate.ts";
import { freePorts } from "../../restate/free-ports.ts";
import { restateServer } from "../../restate/restate-nodes.ts";
import { blocksOf } from "../snippets.ts";

const [config = "", settings = "", postgres = ""] = blocksOf("docs/scale-out.md", "yaml");
const [starting = "", calling = "", confirming = "", asking = ""] = blocksOf("docs/scale-out.md", "sh");
const ANN = "the-token-of-ann-that-is-long-enough";

/** A shell in a folder as the page has it, with other ports than those of the page. */
class Shell {
  readonly #child: ChildProcess;
  readonly #ports: ReadonlyMap<string, string>;
  #printed = "";

  constructor(folder: string, ports: ReadonlyMap<string, string>) {
    this.#ports = ports;
    // A process group of its own, so that its jobs can be ended with it.
    this.#child = spawn("bash", { cwd: folder, detached: true, stdio: ["pipe", "pipe", "pipe"] });
    for (const output of [this.#child.stdout, this.#child.stderr]) {
      output?.on("data", (chunk: Buffer) => {
        this.#printed += chunk;
      });
    }
  }

  /** The text with the ports of this shell. */
  own(text: string): string {
    return text.replaceAll(/\b(7420|7421|8080|9080)\b/g, (port) => this.#ports.get(port) ?? port);
  }

  send(block: string): void {
    this.#child.stdin?.write(`${this.own(block)}\n`);
  }

  /** Waits until the shell has printed something so often. Sends a block again and again, if there is one. */
  async until(expected: string, { times = 1, block = "" } = {}): Promise<void> {
    const by = performance.now() + 90_000;
    while (this.#printed.split(expected).length <= times) {
      if (performance.now() > by) throw new Error(`waits for ${expected}: ${this.#printed}`);
      if (block !== "") this.send(block);
      await new Promise((resolve) => setTimeout(resolve, block === "" ? 50 : 1_000));
    }
  }

  end(): void {
    try {
      if (this.#child.pid !== undefined) process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // All have ended.
    }
  }
}

let folder: string;
let shell: Shell;
let second: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "sandgate-scale-out-"));
  const [one, two, ingress, worker, admin, fabric] = (await freePorts(6)).map(String);
  second = `http://127.0.0.1:${two}`;
  const ports = { 7420: one, 7421: two, 8080: ingress, 9080: worker } as Record<string, string>;
  shell = new Shell(folder, new Map(Object.entries(ports)));
  const commands = {
    sandgate: `exec ${process.execPath} ${resolve("src/cli/main.ts")} "$@"`,
    "restate-server": `export RESTATE_BIND_PORT=${fabric} RESTATE_ADMIN__BIND_ADDRESS=127.0.0.1:${admin}
export RESTATE_INGRESS__BIND_ADDRESS=127.0.0.1:${ingress}
exec ${restateServer()} "$@"`,
  };
  await mkdir(join(folder, "node_modules/.bin"), { recursive: true });
  for (const [name, command] of Object.entries(commands)) {
    const file = join(folder, "node_modules/.bin", name);
    await writeFile(file, `#!/bin/sh\n${command}\n`);
    await chmod(file, 0o755);
  }
  const restate = `{ reusePort: true, port: ${worker} }\n    admin: http://127.0.0.1:${admin}`;
  await writeFile(join(folder, "sandgate.yaml"), shell.own(config).replace("{ reusePort: true }", restate));
});

afterAll(async () => {
  shell.end();
  await rm(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** Answers the confirmation that is open, as a person does on a terminal. */
async function answer(): Promise<number> {
  const headers = { authorization: `Bearer ${ANN}`, "content-type": "application/json" };
  const list = await fetch(`${second}/v1/confirmations`, { headers });
  const { confirmations } = (await list.json()) as { confirmations: Record<string, string>[] };
  const [{ sessionId, turnId, requestId, digest } = {}] = confirmations;
  const url = `${second}/v1/sessions/${sessionId}/turns/${turnId}/confirmations/${requestId}`;
  const body = JSON.stringify({ decision: "allow", digest });
  return (await fetch(url, { method: "POST", headers, body })).status;
}

describe("docs/scale-out.md", () => {
  test("leads from two servers to a call that outlives the one on which it was made", async () => {
    shell.send(starting.replace(/ANN_TOKEN=\$\(.*?\)/, `ANN_TOKEN=${ANN}`));
    await shell.until("listening on", { times: 2 });
    shell.send(calling);
    await shell.until('"messageId":"m1"');
    await shell.until("asks to call 'save_note'", { block: confirming });
    expect(await answer()).toBe(200);
    await shell.until("saved: buy pencils", { block: asking });
  });

  test.each([settings, postgres])("has settings that the command accepts", async (block) => {
    const { durable } = parse(block);
    const whole = { ...parse(config), durable };
    const file = await createFolder({ "sandgate.yaml": JSON.stringify(whole) });
    vi.stubEnv("AGENT_TOKEN", ANN).stubEnv("ANN_TOKEN", `${ANN}-too`);
    expect(await sandgate(["check", "--config", join(file, "sandgate.yaml")])).toMatchObject({
      code: 0,
      stderr: "",
    });
  });
});
