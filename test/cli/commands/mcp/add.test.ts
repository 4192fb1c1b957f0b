import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { startRegistry, type TestRegistry } from "../../../fixtures/mcp/registry.ts";
import { ISOLATIONS } from "../../../sandboxes/process/availability.ts";
import { createFolder, type Outcome, sandgate, type TerminalOptions } from "../../sandgate.ts";

let registry: TestRegistry;
beforeAll(async () => {
  registry = await startRegistry();
});
afterAll(() => registry.close());

interface JsonRpc {
  readonly id?: number;
  readonly method: string;
  readonly params?: { readonly protocolVersion?: string };
}

const COMMAND = ["--", "npx", "-y", "notes-server@1.0.0"];

class Project {
  readonly folder: string;
  readonly config: string;

  constructor(folder: string) {
    this.folder = folder;
    this.config = join(folder, "sandgate.yaml");
  }

  /** Runs `mcp COMMAND` or another command with the config. */
  run(command: string, words: readonly string[] = [], options: TerminalOptions = {}): Promise<Outcome> {
    return sandgate([...command.split(" "), "--config", this.config, ...words], options);
  }

  add(words: readonly string[], options: TerminalOptions = {}): Promise<Outcome> {
    return sandgate(["mcp", "add", "notes", "--config", this.config, ...words], options);
  }

  get text(): string {
    return readFileSync(this.config, "utf8");
  }

  /** Calls a tool, and returns what the model reads. */
  async call(name: string): Promise<string> {
    const message = join(this.folder, "message.json");
    writeFileSync(message, JSON.stringify([{ id: "1", name, arguments: {} }]));
    const { stdout } = await this.run("dispatch", [message, "--output", "json"]);
    return stdout;
  }
}

const createProject = async (files: Record<string, string> = {}) => new Project(await createFolder(files));

/** Every file below a folder. */
const filesBelow = (folder: string): readonly string[] =>
  existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: "utf8" })
        .map((name) => join(folder, name))
        .filter((path) => statSync(path).isFile())
    : [];

describe.skipIf(ISOLATIONS.length === 0)("sandgate mcp add", () => {
  test("installs a package once without its scripts, and writes a config with which it needs no registry", async () => {
    const project = await createProject();
    const added = await project.add(COMMAND);
    expect([added.code, added.stderr]).toEqual([0, expect.stringContaining("Next, read and approve")]);
    expect(project.text).toContain("package: npm:notes-server@1.0.0");
    const packages = join(registry.home, "data/sandgate/packages/npm");
    expect(readdirSync(packages)).toEqual(["notes-server@1.0.0"]);
    expect(existsSync(join(packages, "notes-server@1.0.0/node_modules/notes-server/ran"))).toBe(false);
    const before = registry.requests;
    const again = await createProject();
    expect((await again.add(COMMAND)).code).toBe(0);
    const check = await project.run("check");
    expect([check.code, check.stdout]).toEqual([0, expect.stringContaining("4 tools, 0 errors")]);
    expect(registry.requests).toBe(before);
  });

  test("gives no tool a weaker class than its hints and its name say", async () => {
    const project = await createProject();
    await project.add(COMMAND);
    const classes = [...project.text.matchAll(/^ {4}(mcp_notes_\w+): (\w+)$/gm)];
    expect(Object.fromEntries(classes.map(([, name, sideEffects]) => [name, sideEffects]))).toEqual({
      mcp_notes_read_note: "read",
      mcp_notes_write_note: "write",
      mcp_notes_delete_note: "destructive",
      mcp_notes_odd: "destructive",
    });
  });

  test("has the console confirm, or the person at the client, who may not confirm destructive calls", async () => {
    const served = await createProject();
    const { stderr } = await served.add(COMMAND);
    expect(stderr).toContain("http://127.0.0.1:7420/console/");
    expect(served.text).not.toContain("elicitation");
    expect((await served.run("check")).stdout).toContain("client, over MCP: approver");
    const local = await createProject();
    await local.add(["--confirm", "client", ...COMMAND]);
    expect(local.text).toContain("confirm: elicitation");
    expect(local.text).toContain("destructive: deny");
    expect((await local.run("check")).code).toBe(0);
  });

  test("shows what a server lacks as the grants that it would need, and writes nothing", async () => {
    const project = await createProject({ "here/note.txt": "a note" });
    const note = join(project.folder, "here/note.txt");
    const missing = await project.add([...COMMAND, "--needs", note]);
    expect([missing.code, missing.stdout]).toEqual([1, expect.stringContaining(`--read ${note}`)]);
    expect(missing.stdout).toContain(`fs: [{ file: ${note}, at: ${note} }]`);
    const variable = await project.add([...COMMAND, "--wants", "NOTES_FOLDER"]);
    expect([variable.code, variable.stdout]).toEqual([1, expect.stringContaining("--env NOTES_FOLDER")]);
    const loopback = await project.add([...COMMAND, "--loopback", "yes"]);
    expect([loopback.code, loopback.stdout]).toEqual([
      1,
      expect.stringContaining("its own loopback address"),
    ]);
    const native = await project.add([...COMMAND, "--native", "yes"]);
    expect([native.code, native.stdout]).toEqual([1, expect.stringContaining("add it again with --scripts")]);
    const useless = await project.add([...COMMAND, "--schema", "array"]);
    expect([useless.code, useless.stdout]).toEqual([
      1,
      expect.stringContaining("nothing that it lists can be used"),
    ]);
    expect(existsSync(project.config)).toBe(false);
    const granted = await project.add(["--read", note, ...COMMAND, "--needs", note]);
    expect([granted.code, granted.stdout]).toEqual([0, expect.stringContaining("'notes' was added")]);
    expect((await project.run("check")).code).toBe(0);
  });

  test.runIf(ISOLATIONS.includes("namespaces"))(
    "starts a server without network, and names what it tried to reach",
    async () => {
      const project = await createProject();
      const { code, stdout } = await project.add([...COMMAND, "--fetches", "https://notes.example.com/a"]);
      expect([code, stdout]).toEqual([0, expect.stringContaining("--net https://notes.example.com")]);
      expect(project.text).not.toContain("notes.example.com]");
    },
  );

  test("asks the person at the terminal for each grant", async () => {
    const project = await createProject({ "here/note.txt": "a note" });
    const note = join(project.folder, "here/note.txt");
    const { code, stderr } = await project.add([...COMMAND, "--needs", note], {
      stdin: "r\nclient\n",
      isInteractive: true,
    });
    expect(stderr).toContain(`${note} is among the arguments of 'notes'. May it read it (r)`);
    expect(code).toBe(0);
    expect(project.text).toContain(`{ file: ${note}, at: ${note} }`);
    expect(project.text).toContain("confirm: elicitation");
    const refused = await createProject({ "here/note.txt": "a note" });
    const other = join(refused.folder, "here/note.txt");
    const answers = { stdin: "\n\n\n", isInteractive: true };
    expect((await refused.add([...COMMAND, "--needs", other], answers)).code).toBe(1);
  });

  test("writes secrets to files of their owner, and shows and pins only their names", async () => {
    const project = await createProject();
    const token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
    const words = ["--env", "NOTES_PASSWORD=correct-horse", ...COMMAND, "--token", token];
    const added = await project.add(words);
    const pinned = await project.run("mcp pin", ["--yes"]);
    expect([added.code, pinned.code]).toEqual([0, 0]);
    const lock = readFileSync(join(project.folder, "sandgate.lock"), "utf8");
    const shown = [added.stdout, added.stderr, pinned.stdout, pinned.stderr, project.text, lock].join("\n");
    expect(shown).toContain("NOTES_PASSWORD");
    expect(shown).not.toContain(token);
    expect(shown).not.toContain("correct-horse");
    const files = filesBelow(join(registry.home, "config"));
    const withSecrets = files.filter((file) => /ghp_|correct-horse/.test(readFileSync(file, "utf8")));
    expect(withSecrets).toHaveLength(2);
    for (const file of files) expect(statSync(file).mode & 0o077).toBe(0);
    expect(await project.run("check")).toMatchObject({ code: 0 });
  });

  test("adds to a config without changing what is there, with the rule in the policy's own file", async () => {
    const project = await createProject({
      "sandgate.yaml": "# mine\ntools: []\npolicy: policy.yaml # beside it\n",
      "policy.yaml": "# rules\nrules:\n  - { tools: [a], effect: deny } # first\n",
    });
    expect((await project.add(COMMAND)).code).toBe(0);
    expect(project.text).toContain("# mine\ntools: []\npolicy: policy.yaml # beside it\n");
    const policy = readFileSync(join(project.folder, "policy.yaml"), "utf8");
    expect(policy).toContain("# rules\nrules:\n  - { tools: [ a ], effect: deny } # first\n");
    expect(policy).toContain("tools of notes");
    const twice = await project.add(COMMAND);
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining("has a server 'notes' already")]);
  });

  test.each([
    [["uvx", "mcp-server-git"], "install the package in a virtual environment"],
    [["docker", "run", "-i", "image"], "outside of the sandbox"],
    [["npx", "-y", "--node-options=x", "notes-server"], "is not known here"],
    [["npx", "-y", "github:someone/something"], "is not a package of the registry"],
    [["npx", "-y", "notes-server@9.9.9"], "cannot be installed"],
    [["npx", "-y", "no-such-server"], "cannot be installed"],
  ])("says what to do in place of %s", async (words, text) => {
    const project = await createProject();
    const { code, stderr } = await project.add(["--", ...words]);
    expect([code, stderr]).toEqual([1, expect.stringContaining(text)]);
    expect(existsSync(project.config)).toBe(false);
  });

  test("starts a script beside it, whose folder is granted", async () => {
    const script = readFileSync(new URL("../../../fixtures/mcp/notes-server.mjs", import.meta.url), "utf8");
    const project = await createProject({ "server/notes.mjs": script, "server/package.json": "{}" });
    const words = ["--", "node", join(project.folder, "server/notes.mjs")];
    const refused = await project.add(words);
    expect([refused.code, refused.stdout]).toEqual([
      1,
      expect.stringContaining(`--read ${join(project.folder, "server/notes.mjs")}`),
    ]);
    expect(refused.stdout).not.toContain("node:internal");
    const answers = { stdin: "r\nclient\n", isInteractive: true };
    expect((await project.add(words, answers)).code).toBe(0);
    expect(project.text).toContain(`{ directory: ${join(project.folder, "server")}`);
  });

  test("connects to a URL, and says how it is reached and who asks", async () => {
    const project = await createProject();
    const far = createServer(async (request, response) => {
      if (request.headers.authorization !== "Bearer of-the-far-one")
        return void response.writeHead(401).end();
      if (request.method !== "POST") return void response.writeHead(405).end();
      const { id, method, params } = (await json(request)) as JsonRpc;
      const tools = [{ name: "look", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } }];
      const info = {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "far", version: "1" },
      };
      if (id === undefined) return void response.writeHead(202).end();
      response.setHeader("content-type", "application/json");
      const result = method === "initialize" ? info : method === "tools/list" ? { tools } : undefined;
      const error = { code: -32_601, message: "unknown" };
      return void response.end(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
    });
    await new Promise<void>((resolve) => far.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void far.close());
    const url = `http://127.0.0.1:${(far.address() as { port: number }).port}/mcp`;
    const local = await project.add(["--", url]);
    expect([local.code, local.stdout]).toEqual([1, expect.stringContaining("--address 127.0.0.1/32")]);
    const unknown = await project.add(["--address", "127.0.0.1/32", "--", url]);
    expect([unknown.code, unknown.stdout]).toEqual([1, expect.stringContaining("--bearer")]);
    vi.stubEnv("FAR_TOKEN", "of-the-far-one");
    const added = await project.add(["--address", "127.0.0.1/32", "--bearer", "FAR_TOKEN", "--", url]);
    expect([added.code, added.stdout]).toEqual([0, expect.stringContaining("mcp_notes_look: read")]);
    expect(project.text).toContain("bearer: { env: FAR_TOKEN }");
    expect(project.text).not.toContain("of-the-far-one");
    expect((await project.run("check")).code).toBe(0);
  });

  test("needs a name and a command", async () => {
    const project = await createProject();
    expect((await project.add([])).code).toBe(2);
    expect((await project.add(["extra", ...COMMAND])).code).toBe(2);
  });
});

describe.skipIf(ISOLATIONS.length === 0)("The package of a server", () => {
  test("is pinned with its files: a server whose files changed is not started", async () => {
    const project = await createProject();
    await project.add(["--confirm", "client", ...COMMAND]);
    writeFileSync(project.config, project.text.replace("read: prompt", "read: auto"));
    expect((await project.run("mcp pin", ["--yes"])).stdout).toContain("package of server 'notes'");
    expect(await project.call("mcp_notes_read_note")).toContain("called read_note");
    const script = join(
      registry.home,
      "data/sandgate/packages/npm/notes-server@1.0.0/node_modules/notes-server/index.mjs",
    );
    const before = readFileSync(script);
    try {
      appendFileSync(script, "\n");
      const check = await project.run("check");
      expect([check.code, check.stderr]).toEqual([2, expect.stringContaining("the server is not started")]);
      expect(await project.call("mcp_notes_read_note")).not.toContain("called read_note");
      const diff = await project.run("mcp diff");
      expect([diff.code, diff.stdout]).toEqual([
        1,
        expect.stringContaining("package of server 'notes': changed\n  /files"),
      ]);
    } finally {
      writeFileSync(script, before);
    }
    expect((await project.run("mcp diff")).code).toBe(0);
  });

  test.each([
    ["package: notes-server@1.0.0", "must be npm:NAME@VERSION"],
    ["package: npm:notes-server@^1", "must be npm:NAME@VERSION"],
    ["package: npm:../../x@1.0.0", "must be npm:NAME@VERSION"],
    ["package: npm:notes-server@7.0.0", "'sandgate mcp install' installs it"],
    ["package: npm:notes-server@1.0.0, command: node", "one of command, package and url"],
    ["package: npm:notes-server@1.0.0, bin: other", "has no program 'other'"],
    ["command: node, bin: other", "'bin' names a program of a 'package'"],
  ])("written as %s is refused", async (server, problem) => {
    const project = await createProject({
      "sandgate.yaml": `mcp: { servers: { notes: { ${server} } } }\npolicy: { rules: [] }\n`,
    });
    await (await createProject()).add(COMMAND);
    const { code, stderr } = await project.run("check");
    expect([code, stderr]).toEqual([2, expect.stringContaining(problem)]);
  });

  test("is updated with a look at what changes, and used once that is approved", async () => {
    const project = await createProject();
    await project.add(["--confirm", "client", ...COMMAND]);
    writeFileSync(project.config, project.text.replace("read: prompt", "read: auto"));
    await project.run("mcp pin", ["--yes"]);
    const same = await project.run("mcp update", ["notes", "1.0.0"]);
    expect([same.code, same.stdout]).toEqual([0, "'notes' has npm:notes-server@1.0.0 already\n"]);
    const updated = await project.run("mcp update", ["notes", "^1.1"]);
    expect(updated.code).toBe(0);
    expect(updated.stdout).toContain('/versions/notes-server\n  - | "1.0.0"\n  + | "1.1.0"');
    expect(project.text).toContain("package: npm:notes-server@1.1.0");
    expect(await project.call("mcp_notes_read_note")).not.toContain("called read_note");
    const diff = await project.run("mcp diff", ["--accept"]);
    expect(diff.stdout).toContain('+ | "A tool of 1.1.0"');
    expect(await project.call("mcp_notes_read_note")).toContain("called read_note");
    const failed = await project.run("mcp update", ["notes", "7.0.0"]);
    expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining("cannot be installed")]);
    const unknown = await project.run("mcp update", ["other"]);
    expect([unknown.code, unknown.stderr]).toEqual([
      2,
      expect.stringContaining("no server 'other' with a package"),
    ]);
  });

  test("is installed on another machine as the config says", async () => {
    const project = await createProject({
      "sandgate.yaml":
        "mcp: { servers: { notes: { package: npm:notes-server@1.0.0 } } }\npolicy: { rules: [] }\n",
    });
    vi.stubEnv("XDG_DATA_HOME", join(project.folder, "data"));
    try {
      expect((await project.run("check")).stderr).toContain("'sandgate mcp install' installs it");
      const installed = await project.run("mcp install");
      expect([installed.code, installed.stdout]).toEqual([
        0,
        "'notes': npm:notes-server@1.0.0 is installed\n",
      ]);
      expect((await project.run("check")).code).toBe(0);
    } finally {
      vi.stubEnv("XDG_DATA_HOME", join(registry.home, "data"));
    }
  });

  test("is installed anew if its scripts are to run, which did not", async () => {
    const project = await createProject();
    vi.stubEnv("XDG_DATA_HOME", join(project.folder, "data"));
    try {
      const ran = join(
        project.folder,
        "data/sandgate/packages/npm/notes-server@1.0.0/node_modules/notes-server/ran",
      );
      expect((await project.add(COMMAND)).code).toBe(0);
      expect(existsSync(ran)).toBe(false);
      const other = await createProject();
      expect((await other.add(["--scripts", ...COMMAND])).code).toBe(0);
      expect(existsSync(ran)).toBe(true);
      expect(readdirSync(join(project.folder, "data/sandgate/packages/npm"))).toEqual(["notes-server@1.0.0"]);
    } finally {
      vi.stubEnv("XDG_DATA_HOME", join(registry.home, "data"));
    }
  });
});
