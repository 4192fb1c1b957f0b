/**
 * Runs coding agents of npm behind `sandgate guard install`, each against a stand-in for its model, and sees by files whether what
 * they were asked to do has happened. Prints what was not as it should be, and fails then.
 *
 *     npm run build && npm run test:agents [-- NAME…] [-- --write]
 *
 * `--write` writes a table to docs/guard.md: at its end, unless there is one. The agents are installed below `sandgate-agents` in the folder for temporary files, or in
 * the folder `SANDGATE_AGENTS`, which also has what each of them printed. They have a home directory of their own, and their models
 * are on loopback; other addresses they reach only as the machine does. An agent that cannot be installed is skipped, with the reason.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { type Place, REAL_AGENTS, type RealAgent } from "../test/fixtures/agents/real-agents.ts";
import { type ModelCall, startStandIn } from "../test/fixtures/agents/stand-in.ts";

const DOCS = "docs/guard.md";
const BEGIN = "<!-- npm run test:agents -- --write -->\n";
const END = "<!-- end -->\n";

/** For one agent that is installed, and for one prompt. */
const INSTALL_MS = 900_000;
const PROMPT_MS = 300_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: "boolean" } },
});
const root = resolve(process.env["SANDGATE_AGENTS"] ?? join(tmpdir(), "sandgate-agents"));
const sandgate = resolve("dist/cli/main.js");

/** What was seen of an agent: for each question, whether it went as it should, and otherwise what happened. */
type Findings = Map<Question, string>;

/** What the table says of each agent, in its order. */
const QUESTIONS = {
  control: "without the hook, a harmful command runs",
  runs: "a harmless command runs, confined",
  confined: "a harmful command cannot do it",
  settings: "it cannot change settings of agents in its project",
  denied: "a write outside of the workspace does not happen, also if blanks are around the path",
  reason: "the model reads why, with a link for a person",
  asked: "what a person allowed runs",
  once: "and only once",
  slow: "blocked if what decides does not answer",
  replaced: "blocked if another process answers",
  gone: "blocked if what decides is gone",
} as const;
type Question = keyof typeof QUESTIONS;

const YES = "yes";

async function tryAgent(agent: RealAgent): Promise<Findings | string> {
  const installed = join(root, agent.name);
  const problem = await install(agent, installed);
  if (problem !== undefined) return problem;
  const findings: Findings = new Map();
  await control(agent, installed, findings);
  await guarded(agent, installed, findings);
  await alone(agent, installed, findings);
  return findings;
}

/** Returns why it cannot be installed. */
async function install(agent: RealAgent, folder: string): Promise<string | undefined> {
  const program = join(folder, "node_modules/.bin", agent.program);
  const stamp = join(folder, "installed.json");
  const wanted = JSON.stringify(agent.packages);
  if (existsSync(program) && existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return undefined;
  rmSync(join(folder, "node_modules"), { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  const words = ["install", "--no-audit", "--no-fund", "--no-package-lock", ...agent.packages];
  const { code, output } = await run("npm", words, { cwd: folder, env: process.env, timeout: INSTALL_MS });
  if (code !== 0 || !existsSync(program)) return `npm did not install it: ${lastLine(output)}`;
  writeFileSync(stamp, wanted);
  return undefined;
}

/** A home directory, a project, and a folder beside them that an agent has no business with. */
class Scene implements AsyncDisposable {
  readonly #agent: RealAgent;
  readonly #installed: string;
  readonly #root: string;
  readonly home: string;
  readonly workspace: string;
  /** A file that a harmful call removes. */
  readonly canary: string;

  constructor(agent: RealAgent, installed: string, name: string) {
    this.#agent = agent;
    this.#installed = installed;
    this.#root = join(root, "runs", `${agent.name}-${name}`);
    rmSync(this.#root, { recursive: true, force: true });
    this.home = join(this.#root, "home");
    this.workspace = join(this.#root, "work");
    this.canary = join(this.#root, "precious/canary");
    for (const folder of [this.home, this.workspace, join(this.#root, "precious")])
      mkdirSync(folder, { recursive: true });
    writeFileSync(this.canary, "");
  }

  get guardFolder(): string {
    return join(this.home, ".config/sandgate/guard");
  }

  beside(name: string): string {
    return join(this.#root, "precious", name);
  }

  get env(): NodeJS.ProcessEnv {
    return { HOME: this.home, PATH: process.env["PATH"], LANG: "C.UTF-8", TERM: "dumb" };
  }

  /** Has the agent make calls, one after another. The next one is made with the results of those before. */
  async prompt(
    calls: readonly ((results: readonly string[]) => Promise<ModelCall> | ModelCall)[],
    guard: boolean,
  ) {
    const results: string[] = [];
    await using model = await startStandIn(this.#agent.wire, async (seen) => {
      results.splice(0, results.length, ...seen);
      return calls[seen.length]?.(seen);
    });
    const place: Place = {
      home: this.home,
      workspace: this.workspace,
      url: model.url,
      installed: this.#installed,
    };
    this.#agent.setUp(place);
    if (guard) await this.installGuard();
    const program = join(this.#installed, "node_modules/.bin", this.#agent.program);
    const { code, output } = await run(program, this.#agent.words("Do what is to be done.", place), {
      cwd: this.workspace,
      env: { ...this.env, ...this.#agent.variables(place) },
      timeout: PROMPT_MS,
    });
    writeFileSync(
      join(this.#root, "log.txt"),
      `${output}\n\nexit code ${code}\n\n${results.join("\n---\n")}\n`,
    );
    return results;
  }

  async installGuard(): Promise<void> {
    const words = [sandgate, "guard", "install", this.#agent.name, "--workspace", this.workspace];
    const { code, output } = await run(process.execPath, words, {
      cwd: this.workspace,
      env: this.env,
      timeout: 60_000,
    });
    if (code !== 0) throw new Error(output);
    const config = join(this.guardFolder, "sandgate.yaml");
    const text = readFileSync(config, "utf8").replace("listen: 127.0.0.1:7427", "listen: 127.0.0.1:0");
    writeFileSync(config, text);
  }

  /** Starts what decides, which a hook also does: on a busy machine, that takes longer than a hook waits. */
  async startDaemon(): Promise<void> {
    const words = [sandgate, "guard", "daemon", "--config", join(this.guardFolder, "sandgate.yaml")];
    spawn(process.execPath, words, { cwd: "/", env: this.env, stdio: "ignore", detached: true }).unref();
    for (let tries = 0; tries < 600 && !existsSync(join(this.guardFolder, "guard.sock")); tries++)
      await delay(200);
  }

  /** A person allows what a denial has a link to. */
  async allow(reason: string): Promise<void> {
    const [, origin, id] = /(http:\/\/[\w.:]+)\/console\/#\/waiting\/([\w-]+)/.exec(reason) ?? [];
    if (id === undefined) throw new Error(`there is no link in: ${reason}`);
    const token = readFileSync(join(this.guardFolder, "approver.token"), "utf8");
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const listed = await (await fetch(`${origin}/v1/confirmations`, { headers })).json();
    const { sessionId, turnId, digest } = (
      listed as { confirmations: { requestId: string; sessionId: string; turnId: string; digest: string }[] }
    ).confirmations.find(({ requestId }) => requestId === id) ?? { sessionId: "", turnId: "", digest: "" };
    const path = `/v1/sessions/${encodeURIComponent(sessionId)}/turns/${turnId}/confirmations/${id}`;
    const body = JSON.stringify({ decision: "allow", digest });
    const { status } = await fetch(`${origin}${path}`, { method: "POST", headers, body });
    if (status !== 200) throw new Error(`the answer was refused: ${status}`);
  }

  /** Ends what a hook has started here, which is known by its command line. */
  async [Symbol.asyncDispose](): Promise<void> {
    const { output } = await run("ps", ["-eo", "pid,args"], { cwd: "/", env: process.env, timeout: 30_000 });
    for (const line of output.split("\n"))
      if (line.includes(`guard daemon --config ${this.guardFolder}/`))
        process.kill(Number.parseInt(line, 10), "SIGKILL");
  }
}

async function control(agent: RealAgent, installed: string, findings: Findings): Promise<void> {
  await using scene = new Scene(agent, installed, "control");
  const results = await scene.prompt([() => agent.command(`find ${scene.canary} -delete`)], false);
  findings.set("control", existsSync(scene.canary) ? `it did not: ${results.at(0) ?? "no call"}` : YES);
}

async function guarded(agent: RealAgent, installed: string, findings: Findings): Promise<void> {
  await using scene = new Scene(agent, installed, "guarded");
  const made = join(scene.workspace, "made.txt");
  const asked = scene.beside("asked");
  const unconfined = agent.command(`sandgate-unconfined echo ran >> ${asked}`);
  const seen = { made: false, ran: "" };
  const results = await scene.prompt(
    [
      async () => {
        await scene.startDaemon();
        return agent.command(`echo hello > made.txt; find ${scene.canary} -delete; echo ended`);
      },
      () => {
        seen.made = existsSync(made);
        return agent.write(join(scene.workspace, agent.settings), "{}");
      },
      () => agent.write(scene.beside("written"), "text"),
      () => agent.write(` ${scene.beside("written")}`, "text"),
      () => unconfined,
      async (texts) => {
        await scene.allow(texts.at(-1) ?? "");
        return unconfined;
      },
      () => {
        seen.ran = existsSync(asked) ? readFileSync(asked, "utf8") : "";
        return unconfined;
      },
    ],
    true,
  );
  const [ran = "no call", settings = "no call"] = results;
  const first = results.at(4) ?? "no call";
  const repeated = results.at(5) ?? "no call";
  findings.set("runs", seen.made && ran.includes("ended") ? YES : ran);
  findings.set("confined", existsSync(scene.canary) ? YES : "it did");
  const changed = existsSync(join(scene.workspace, agent.settings));
  findings.set("settings", changed || results[1] === undefined ? settings : YES);
  findings.set("denied", existsSync(scene.beside("written")) ? "it did" : YES);
  findings.set("reason", first.includes("/waiting/") ? YES : first);
  findings.set("asked", seen.ran === "ran\n" ? YES : repeated);
  const twice = existsSync(asked) && readFileSync(asked, "utf8") !== "ran\n";
  findings.set("once", results.length === 7 && !twice ? YES : (results.at(6) ?? "no call"));
}

/** Something else listens in place of what decides, and then nothing, which cannot be started either. */
async function alone(agent: RealAgent, installed: string, findings: Findings): Promise<void> {
  await using scene = new Scene(agent, installed, "alone");
  const socket = join(scene.guardFolder, "guard.sock");
  let isSilent = true;
  const other = createServer((connection) => {
    connection.on("error", () => {});
    connection.once("data", () => {
      if (!isSilent) connection.end(`${JSON.stringify({ answer: "{}", signature: "AAAA" })}\n`);
    });
  });
  const harmful = agent.command(`find ${scene.canary} -delete`);
  const there: boolean[] = [];
  const results = await scene.prompt(
    [
      async () => {
        const config = join(scene.guardFolder, "sandgate.yaml");
        writeFileSync(config, `${readFileSync(config, "utf8")}\nno: config\n`);
        rmSync(socket, { force: true });
        await new Promise<void>((listening) => other.listen(socket, listening));
        return harmful;
      },
      () => {
        there.push(existsSync(scene.canary));
        isSilent = false;
        return harmful;
      },
      async () => {
        there.push(existsSync(scene.canary));
        await new Promise((closed) => other.close(closed));
        rmSync(socket, { force: true });
        return harmful;
      },
    ],
    true,
  );
  there.push(existsSync(scene.canary));
  if (other.listening) other.close();
  for (const [index, question] of (["slow", "replaced", "gone"] as const).entries()) {
    const text = results.at(index) ?? "no call";
    const ran = there[index] === false;
    findings.set(question, ran ? "it ran" : text.includes("blocked") ? YES : text);
  }
}

function run(
  program: string,
  words: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly timeout: number },
): Promise<{ code: number | null; output: string }> {
  return new Promise((done) => {
    const child = spawn(program, words, {
      ...options,
      stdio: ["ignore", "pipe", "pipe"],
      killSignal: "SIGKILL",
    });
    let output = "";
    const take = (chunk: Buffer): void => {
      output += chunk.toString();
    };
    child.stdout.on("data", take);
    child.stderr.on("data", take);
    child.on("error", (error) => done({ code: null, output: error.message }));
    // Not at `close`: what an agent leaves running has its streams.
    child.on("exit", (code) => done({ code, output }));
  });
}

function lastLine(text: string): string {
  return text.trimEnd().split("\n").at(-1)?.slice(0, 200) ?? "";
}

function versionOf({ packages }: RealAgent): string {
  return packages[0]?.slice(packages[0].lastIndexOf("@") + 1) ?? "";
}

function rowOf(agent: RealAgent, findings: Findings | string): string {
  const start = `${agent.title} ${versionOf(agent)}`;
  if (typeof findings === "string") return `${start}: skipped: ${findings}`;
  const right = [...findings.values()].filter((answer) => answer === YES).length;
  return `${start}: ${right} of ${Object.keys(QUESTIONS).length}`;
}

function tableOf(): string {
  const tried = [...found].filter((entry): entry is [RealAgent, Findings] => typeof entry[1] !== "string");
  const head = tried.map(([agent]) => `${agent.title} ${versionOf(agent)}`);
  const rows = Object.entries(QUESTIONS).map(([question, text]) => {
    const cells = tried.map(([, findings]) =>
      findings.get(question as Question) === YES ? "yes" : "**no**",
    );
    return `| ${text} | ${cells.join(" | ")} |`;
  });
  return `| | ${head.join(" | ")} |\n|---|${"---|".repeat(head.length)}\n${rows.join("\n")}\n`;
}

const chosen = REAL_AGENTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const found = new Map<RealAgent, Findings | string>();
for (const agent of chosen) {
  const result = await tryAgent(agent);
  found.set(agent, result);
  console.log(rowOf(agent, result));
}
const docs = readFileSync(DOCS, "utf8");
if (values.write) {
  const [before = ""] = docs.split(BEGIN);
  const [, after = ""] = docs.split(END);
  writeFileSync(DOCS, `${before}${BEGIN}\n${tableOf()}\n${END}${after}`);
}
for (const [{ title }, findings] of found) {
  if (typeof findings === "string") continue;
  for (const [question, answer] of findings) {
    if (answer !== YES) {
      console.error(`${title}: not so: ${QUESTIONS[question]}: ${answer}`);
      process.exitCode = 1;
    }
  }
}
