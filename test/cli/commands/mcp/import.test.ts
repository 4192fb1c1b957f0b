import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { startRegistry, type TestRegistry } from "../../../fixtures/mcp/registry.ts";
import { ISOLATIONS } from "../../../sandboxes/process/availability.ts";
import { createFolder, type Outcome, sandgate, type TerminalOptions } from "../../sandgate.ts";

let registry: TestRegistry;
beforeAll(async () => {
  registry = await startRegistry();
});
afterAll(() => registry.close());

const TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
const ARGS = ["-y", "notes-server@1.0.0"];

/** What a client replaces. */
const placeholder = (name: string): string => `\${${name}}`;

/** The same two servers in the config of each client. */
const CLIENTS: Readonly<Record<string, string>> = {
  "claude_desktop_config.json": JSON.stringify({
    theme: "dark",
    mcpServers: {
      notes: { command: "npx", args: [...ARGS, "--token", TOKEN], env: { NOTES_PASSWORD: "correct-horse" } },
      far: {
        url: "https://mcp.example.com/mcp?key=in-the-query",
        headers: { Authorization: "Bearer of-the-far" },
      },
    },
  }),
  ".vscode/mcp.json": `{
    // of the project
    "servers": {
      "notes": { "type": "stdio", "command": "npx", "args": ["-y", "notes-server@1.0.0", "--token", "${TOKEN}",], "env": { "NOTES_PASSWORD": "correct-horse" } },
      "far": { "type": "http", "url": "https://mcp.example.com/mcp?key=in-the-query", "headers": { "Authorization": "Bearer of-the-far" } }, /* the last one */
    }
  }`,
  "opencode.json": JSON.stringify({
    mcp: {
      notes: {
        type: "local",
        command: ["npx", ...ARGS, "--token", TOKEN],
        environment: { NOTES_PASSWORD: "correct-horse" },
      },
      far: {
        type: "remote",
        url: "https://mcp.example.com/mcp?key=in-the-query",
        headers: { Authorization: "Bearer of-the-far" },
      },
    },
  }),
  "config.toml": `model = "gpt"   # a comment
[projects."/home/me/a"]
trust_level = "trusted"
numbers = [
  1, 2.5, # three
  3,
]
text = """
[mcp_servers.no]
"""

[mcp_servers.notes]
command = "npx"
args = ["-y", 'notes-server@1.0.0', "--token", "${TOKEN}"]
env = { NOTES_PASSWORD = "correct-horse" }

[mcp_servers."far"]
url = "https://mcp.example.com/mcp?key=in-the-query"
http_headers = { "Authorization" = "Bearer of-the-far" }

[history]
persistence = "none"
`,
};

const SECRETS = /ghp_0123|correct-horse|of-the-far|in-the-query/;

class Project {
  readonly folder: string;
  readonly client: string;
  readonly config: string;

  constructor(folder: string, client: string) {
    this.folder = folder;
    this.client = join(folder, client);
    this.config = join(folder, "sandgate.yaml");
  }

  import(words: readonly string[], options: TerminalOptions = {}): Promise<Outcome> {
    return sandgate(["mcp", "import", this.client, "--config", this.config, ...words], options);
  }

  get text(): string {
    return readFileSync(this.config, "utf8");
  }
}

async function createProject(client: string, text = CLIENTS[client] ?? ""): Promise<Project> {
  return new Project(await createFolder({ [client]: text }), client);
}

test.each(
  Object.keys(CLIENTS),
)("sandgate mcp import shows the servers of %s, and starts none that nobody picked", async (client) => {
  const project = await createProject(client);
  const { code, stdout, stderr } = await project.import([]);
  expect([code, stderr]).toEqual([
    0,
    expect.stringContaining("nothing was started or imported: choose with --server"),
  ]);
  expect(stdout).toContain("notes: npx -y notes-server@1.0.0 --token [secret]");
  expect(stdout).toContain("variables: NOTES_PASSWORD");
  expect(stdout).toContain("far: https://mcp.example.com/mcp?…");
  expect(stdout).toContain("headers: Authorization");
  expect(stdout + stderr).not.toMatch(SECRETS);
  expect(existsSync(project.config)).toBe(false);
});

test("sandgate mcp import finds only the user's own configs, and no project's", async () => {
  const home = await createFolder({
    ".config/Claude/claude_desktop_config.json": CLIENTS["claude_desktop_config.json"] ?? "",
    ".mcp.json": CLIENTS["claude_desktop_config.json"] ?? "",
    ".codex/config.toml": "model = 1\n",
  });
  vi.stubEnv("HOME", home);
  vi.stubEnv("XDG_CONFIG_HOME", "");
  const found = await sandgate(["mcp", "import", "--config", join(home, "sandgate.yaml")]);
  vi.stubEnv("HOME", registry.home);
  vi.stubEnv("XDG_CONFIG_HOME", join(registry.home, "config"));
  expect(found.code).toBe(0);
  expect(found.stdout).toContain("claude_desktop_config.json:");
  expect(found.stdout).not.toContain(".mcp.json");
  expect(found.stderr).toContain("has no servers of MCP");
});

test.each([
  ["{", "is not valid JSON"],
  ["[]", "has no object"],
  ["{}", "has no servers of MCP"],
  ['{ "mcpServers": { "a": {} } }', "neither a command nor a URL"],
  [
    `{ "mcpServers": { "a": { "command": "x", "env": { "A": "${placeholder("input:token")}" } } } }`,
    "only the client can replace",
  ],
  ['{ "mcpServers": { "a": { "type": "sse", "url": "https://a.example" } } }', "HTTP+SSE"],
  ['{ "mcpServers": { "a": { "command": "x", "disabled": true } } }', "it is switched off"],
])("sandgate mcp import refuses the config %s", async (text, problem) => {
  const project = await createProject("mcp.json", text);
  const { code, stdout, stderr } = await project.import(["--server", "a"]);
  expect([code, stdout + stderr]).toEqual([2, expect.stringContaining(problem)]);
  expect(existsSync(project.config)).toBe(false);
});

test.each([
  "a = ",
  "a = [1",
  "[a\nb = 1",
  "a = 1\na = 2",
  'a = "\\q"',
  "a = 1 b = 2",
  "[[a]]\n[a]\nb = 1\nb = 2",
  `a = ${"[".repeat(100)}`,
])("sandgate mcp import refuses the TOML %s", async (text) => {
  const project = await createProject("config.toml", text);
  const { code, stderr } = await project.import([]);
  expect([code, stderr]).toEqual([
    2,
    expect.stringMatching(/line \d+ is not valid TOML|has no servers of MCP/),
  ]);
});

describe.skipIf(ISOLATIONS.length === 0)("sandgate mcp import", () => {
  test("imports what a person picks, with secrets in files outside of the folder", async () => {
    const project = await createProject("claude_desktop_config.json");
    const imported = await project.import(["--confirm", "client"], { stdin: "y\nn\n", isInteractive: true });
    expect(imported.code).toBe(0);
    expect(imported.stderr).toContain("Start 'far' once, and import it? [y/N]");
    expect(project.text).toContain("package: npm:notes-server@1.0.0");
    expect(project.text).toMatch(/NOTES_PASSWORD: \{ file: \S+ \}/);
    expect(project.text).not.toContain("mcp.example.com");
    expect(project.text + imported.stdout + imported.stderr).not.toMatch(SECRETS);
    expect((await sandgate(["check", "--config", project.config])).code).toBe(0);
  });

  test("asks about the paths in a server's variables", async () => {
    const folder = await createFolder({ "here/note.txt": "a note" });
    const env = { NOTES_FILE: join(folder, "here/new.txt") };
    const servers = { notes: { command: "npx", args: [...ARGS, "--writes", env.NOTES_FILE], env } };
    const project = await createProject(".mcp.json", JSON.stringify({ mcpServers: servers }));
    const answers = { stdin: "w\nclient\n", isInteractive: true };
    const { code, stderr } = await project.import(["--server", "notes"], answers);
    expect(stderr).toContain(
      `${join(folder, "here")} is in the variable NOTES_FILE of 'notes'. May it read it (r)`,
    );
    expect(code).toBe(0);
    expect(readFileSync(env.NOTES_FILE, "utf8")).toBe("written");
  });

  test("passes on variables that the client takes from its environment", async () => {
    const servers = {
      "my notes!": {
        command: "npx",
        args: ARGS,
        env: { A: placeholder("HOME_OF_NOTES"), B: placeholder("env:OTHER") },
      },
    };
    const project = await createProject(".mcp.json", JSON.stringify({ mcpServers: servers }));
    vi.stubEnv("HOME_OF_NOTES", "/notes");
    vi.stubEnv("OTHER", "other");
    expect((await project.import(["--server", "my_notes_"])).code).toBe(0);
    expect(project.text).toContain("A: { env: HOME_OF_NOTES }");
    expect(project.text).toContain("B: { env: OTHER }");
  });

  test.each([
    "claude_desktop_config.json",
    "opencode.json",
    "config.toml",
  ])("--write-client puts Sandgate into %s, and --undo puts back what was there", async (client) => {
    const project = await createProject(client);
    const before = readFileSync(project.client, "utf8");
    const words = ["--server", "notes", "--confirm", "client", "--write-client"];
    const { code, stderr } = await project.import(words);
    expect([code, stderr]).toEqual([0, expect.stringContaining("--undo")]);
    const written = readFileSync(project.client, "utf8");
    expect(written).not.toMatch(/notes-server|ghp_|correct-horse/);
    expect(written).toContain("of-the-far");
    expect(written).toContain("sandgate.yaml");
    const shown = await project.import([]);
    expect(shown.stdout).toMatch(/sandgate: .* mcp serve --config .*sandgate\.yaml/);
    const backups = join(registry.home, "state/sandgate/mcp/backups");
    for (const file of readdirSync(backups, { recursive: true, encoding: "utf8" }).map((name) =>
      join(backups, name),
    )) {
      expect(statSync(file).mode & 0o077).toBe(0);
      if (statSync(file).isFile())
        expect(readFileSync(file, "utf8")).not.toMatch(/ghp_|correct-horse|of-the-far/);
    }
    expect((await project.import(["--undo"])).code).toBe(0);
    expect(readFileSync(project.client, "utf8")).toBe(before);
    const twice = await project.import(["--undo"]);
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining("there is no backup")]);
  });

  test("has the client connect to the server where calls are confirmed at the console", async () => {
    const project = await createProject("mcp.json", CLIENTS["claude_desktop_config.json"]);
    expect((await project.import(["--server", "notes", "--write-client"])).code).toBe(0);
    const { mcpServers } = JSON.parse(readFileSync(project.client, "utf8")) as {
      mcpServers: Record<string, { url?: string; headers?: Record<string, string> }>;
    };
    expect(mcpServers["sandgate"]?.url).toBe("http://127.0.0.1:7420/mcp");
    expect(mcpServers["sandgate"]?.headers?.["Authorization"]).toMatch(/^Bearer \S{16,}$/);
    const desktop = await createProject("claude_desktop_config.json");
    const refused = await desktop.import(["--server", "notes", "--write-client"]);
    expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("--confirm client")]);
  });

  test("changes no config with comments, and puts back none that was changed since", async () => {
    const project = await createProject(".vscode/mcp.json");
    const before = readFileSync(project.client, "utf8");
    const words = ["--server", "notes", "--confirm", "client", "--write-client"];
    const { code, stderr } = await project.import(words);
    expect([code, stderr]).toEqual([2, expect.stringContaining("has comments, which would be lost")]);
    expect(readFileSync(project.client, "utf8")).toBe(before);
    const other = await createProject("opencode.json");
    await other.import(words);
    mkdirSync(dirname(other.client), { recursive: true });
    writeFileSync(other.client, `${readFileSync(other.client, "utf8")} `);
    const undone = await other.import(["--undo"]);
    expect([undone.code, undone.stderr]).toEqual([2, expect.stringContaining("was changed since")]);
    const [, backup = ""] = /in (\S+\.json)\n/.exec(undone.stderr) ?? [];
    writeFileSync(backup, readFileSync(backup, "utf8").replace('"version": 1', '"version": 2'));
    const newer = await other.import(["--undo"]);
    expect([newer.code, newer.stderr]).toEqual([2, expect.stringContaining("has format 2")]);
  });
});
