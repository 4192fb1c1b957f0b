/**
 * Adds real MCP servers of npm with `sandgate mcp add`, as docs/mcp.md says, and calls one tool of each. Prints a table, and fails if
 * a server that the table in docs/mcp-servers.md names as working does not.
 *
 *     npm run test:mcp-servers [-- NAME...] [-- --write]
 *
 * `--write` writes the table to docs/mcp-servers.md. The packages are installed, without running their scripts, below
 * `sandgate-mcp-servers` in the folder for temporary files, or in the folder `SANDGATE_MCP_SERVERS`, which also has what each server
 * and command wrote.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { MCP_SERVERS, type TriedServer } from "../test/fixtures/mcp/npm-servers.ts";

const DOCS = "docs/mcp-servers.md";
const BEGIN = "<!-- npm run test:mcp-servers -- --write -->\n";
const END = "<!-- end -->\n";

/** For one command, of which the first downloads packages. */
const TIMEOUT_MS = 300_000;

/** In place of the exit code of a command that took too long. */
const ENDED_HERE = -1;

/** How many servers are tried at once: most of the time is spent waiting for the registry. */
const AT_ONCE = 3;

/** What became of a server. */
interface Result {
  readonly name: string;
  readonly version: string;
  /** How many tools it has; `undefined` if it could not be used. */
  readonly tools?: number;
  /** Why it has none, in words of `sandgate mcp add`. */
  readonly problem?: string;
  /** What its tool answered, or why there is no answer. */
  readonly call: { readonly isAnswer: boolean; readonly text: string } | undefined;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: "boolean" } },
});
// In node_modules, the folder of Node.js itself, which programs can only read, would hide what a server may write.
const folder = resolve(process.env["SANDGATE_MCP_SERVERS"] ?? join(tmpdir(), "sandgate-mcp-servers"));
const env = {
  ...process.env,
  XDG_DATA_HOME: join(folder, "data"),
  XDG_CONFIG_HOME: join(folder, "config"),
  XDG_STATE_HOME: join(folder, "state"),
};

const queue = MCP_SERVERS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const chosen = [...queue];
const results = new Map<string, Result>();
const work = async (): Promise<void> => {
  for (let server = queue.shift(); server !== undefined; server = queue.shift()) {
    const result = await tryServer(server);
    results.set(server.name, result);
    writeFileSync(join(folder, `${server.name}.json`), JSON.stringify(result, undefined, 2));
    console.log(rowOf(server, result));
  }
};
mkdirSync(folder, { recursive: true });
await Promise.all(Array.from({ length: AT_ONCE }, work));

const docs = existsSync(DOCS) ? readFileSync(DOCS, "utf8") : `${BEGIN}${END}`;
if (values.write) {
  const [before = ""] = docs.split(BEGIN);
  const [, after = ""] = docs.split(END);
  writeFileSync(DOCS, `${before}${BEGIN}\n${table()}\n${END}${after}`);
} else {
  const lost = chosen.filter((server) => {
    const { version, problem, call } = results.get(server.name) as Result;
    const row = docs.split("\n").find((line) => line.startsWith(`${rowStart(server)} ${version} | yes`));
    if (row === undefined) return false;
    return problem !== undefined || (row.includes(": answers |") && call?.isAnswer !== true);
  });
  for (const { name } of lost)
    console.error(`${name} does not work any more: see ${join(folder, name)}.json`);
  if (lost.length > 0) process.exitCode = 1;
}

async function tryServer(server: TriedServer): Promise<Result> {
  const place = join(folder, "servers", server.name);
  const {
    name,
    package: version,
    args = [],
    grants = [],
    files = {},
    call,
  }: TriedServer = JSON.parse(JSON.stringify(server).replaceAll("{folder}", place));
  rmSync(place, { recursive: true, force: true });
  mkdirSync(join(place, "data"), { recursive: true });
  for (const [path, text] of Object.entries(files)) writeFileSync(join(place, path), text);
  const added = await sandgate(["mcp", "add", name, ...grants, "--", "npx", "-y", version, ...args], place);
  const [, count] = /^'.*' has (\d+) tools?/m.exec(added.stdout) ?? [];
  const found = { name, version: version.slice(version.lastIndexOf("@") + 1) };
  if (added.code !== 0 || count === undefined)
    return { ...found, problem: problemOf(added), call: undefined };
  if (call === undefined) return { ...found, tools: Number(count), call: undefined };
  const [tool, input] = call;
  writeFileSync(
    join(place, "message.json"),
    JSON.stringify([{ id: "1", name: `mcp_${name}_${tool}`, arguments: input }]),
  );
  const called = await sandgate(
    ["dispatch", "--config", "sandgate.yaml", "message.json", "--output", "json"],
    place,
  );
  return { ...found, tools: Number(count), call: answerOf(called) };
}

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function sandgate(argv: readonly string[], cwd: string): Promise<Ended> {
  const main = resolve("src/cli/main.ts");
  return new Promise((done) => {
    const options = { cwd, env, timeout: TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 };
    const child = execFile(process.execPath, [main, ...argv], options, (error, stdout, stderr) => {
      writeFileSync(join(cwd, `${argv[0]}.log`), `${argv.join(" ")}\n\n${stdout}\n${stderr}`);
      done({ code: error === null ? 0 : Number(error.code ?? ENDED_HERE), stdout, stderr });
    });
    child.stdin?.end();
  });
}

function problemOf({ code, stdout, stderr }: Ended): string {
  if (code === ENDED_HERE) return `this was not done within ${TIMEOUT_MS / 60_000} minutes`;
  const [, problem = stderr] = /^'.*' cannot be used yet: (.*)$/m.exec(stdout) ?? [];
  return problem.replace("the server cannot be connected to: ", "").trim();
}

function answerOf({ stdout, stderr }: Ended): NonNullable<Result["call"]> {
  try {
    const [execution] = JSON.parse(stdout).executions;
    const { success, error, metadata } = execution;
    const block = metadata?.mcp?.content?.[0];
    const text = block?.text ?? block?.type ?? "structured content";
    return { isAnswer: success === true, text: success === true ? text : error.message };
  } catch {
    return { isAnswer: false, text: stderr };
  }
}

function rowStart({ name, package: version }: TriedServer): string {
  return `| ${name} | \`${version.slice(0, version.lastIndexOf("@"))}\` |`;
}

function rowOf(server: TriedServer, { version, tools, problem, call }: Result): string {
  const { grants = [], args = [], needs = "", note } = server;
  const works = problem === undefined ? "yes" : "no";
  const given = [...grants, ...(args.length > 0 ? ["--", "…", ...args] : [])];
  const granted = given.length === 0 ? "nothing" : `\`${given.join(" ")}\``;
  const called =
    server.call === undefined || call === undefined
      ? needs || "–"
      : `\`${server.call[0]}\`: ${call.isAnswer ? "answers" : cell(call.text)}`;
  const why = problem === undefined || note !== undefined ? "" : cell(problem);
  return `${rowStart(server)} ${version} | ${works} | ${tools ?? "–"} | ${granted} | ${called} | ${[why, note].filter(Boolean).join(" ")} |`;
}

function cell(text: string): string {
  const line = text
    .replaceAll(/\s+/g, " ")
    .replaceAll("|", "\\|")
    .replaceAll("`", "'")
    .replaceAll(folder, "…");
  return `\`${line.slice(0, 160).trim()}\``;
}

function table(): string {
  const rows = MCP_SERVERS.flatMap((server) => {
    const file = join(folder, `${server.name}.json`);
    if (!existsSync(file)) return [];
    return [rowOf(server, JSON.parse(readFileSync(file, "utf8")) as Result)];
  });
  const head = [
    "| name | package | version | starts | tools | what is granted | one call | what to know |",
    "|---|---|---|---|---|---|---|---|",
  ];
  return [...head, ...rows].join("\n");
}
