import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { parse } from "yaml";
import { readConfigFile } from "../../src/config/source.ts";
import type { JsonObject, JsonValue } from "../../src/json/value.ts";
import type { UntrustedResult } from "../../src/policy/rule/rule.ts";
import type { SideEffects } from "../../src/tool/side-effects.ts";
import { plant } from "./plant.ts";
import { callKey, type RecordedCall, type RecordedTool, readTraces } from "./traces.ts";

/** The sessions of one suite: those that did what the user wanted, and those with an attack. */
export interface RecordedRuns {
  readonly name: string;
  readonly tools: readonly RecordedTool[];
  /** The classes of the tools. Others are destructive. */
  readonly sideEffects: ReadonlyMap<string, SideEffects>;
  readonly untrusted: readonly UntrustedResult[];
  readonly benign: readonly Run[];
  readonly hijacked: readonly HijackedRun[];
}

/** A session. */
export interface Run {
  readonly task: string;
  readonly userText: string;
  readonly calls: readonly RecordedCall[];
}

/** A session with an attack, which was reached if all of its calls ran. */
export interface HijackedRun extends Run {
  /** What the attacker wanted: calls that do more than read. */
  readonly attack: readonly RecordedCall[];
}

/** What a person wrote about a suite. */
interface Description {
  readonly sideEffects: ReadonlyMap<string, SideEffects>;
  readonly untrusted: readonly UntrustedResult[];
}

/** Reads `FOLDER/agentdojo/traces.jsonl` and `FOLDER/agentdyn/*.jsonl.gz`, as far as they exist. */
export async function readRuns(folder: string): Promise<readonly RecordedRuns[]> {
  const dyn = join(folder, "agentdyn");
  const names = existsSync(dyn)
    ? (await readdir(dyn)).filter((name) => name.endsWith(".jsonl.gz")).sort()
    : [];
  return [
    ...(await readAgentDojo(join(folder, "agentdojo/traces.jsonl"))),
    ...(await Promise.all(names.map((name) => readAgentDyn(join(dyn, name), name.replace(".jsonl.gz", ""))))),
  ];
}

async function readAgentDojo(file: string): Promise<readonly RecordedRuns[]> {
  if (!existsSync(file)) return [];
  return Promise.all(
    (await readTraces(file)).map(async ({ name, tools, tasks, attacks }) => {
      const described = await readDescription("policies", name, ["policy"]);
      const isMild = mildness(described.sideEffects);
      const hijacked = tasks.flatMap((task) =>
        attacks.flatMap((attack) =>
          (["text", "fields"] as const).flatMap((place): HijackedRun[] => {
            const calls = plant(task, attack, described.untrusted, place);
            const harmful = attack.calls.filter((call) => !isMild(call));
            if (calls === undefined || harmful.length === 0) return [];
            return [
              { task: task.id, userText: task.goal, calls: [...calls, ...attack.calls], attack: harmful },
            ];
          }),
        ),
      );
      const benign = tasks.map(({ id, goal, calls }) => ({ task: id, userText: goal, calls }));
      return { name, tools, ...described, benign, hijacked };
    }),
  );
}

/** A line of AgentDyn's runs. */
interface Line {
  readonly kind: "benign" | "hijack";
  readonly task: string;
  readonly user: readonly string[];
  readonly calls: readonly {
    readonly tool: string;
    readonly args: JsonObject;
    readonly output?: string;
    readonly error?: unknown;
  }[];
}

async function readAgentDyn(file: string, name: string): Promise<RecordedRuns> {
  const described = await readDescription("learned", name, []);
  const lines = gunzipSync(await readFile(file))
    .toString()
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Line);
  const isMild = mildness(described.sideEffects);
  const runOf = ({ task, user, calls }: Line): Run => ({
    task,
    userText: user.join("\n"),
    calls: calls
      .filter(({ error }) => error === undefined || error === null || error === "")
      .map(({ tool, args, output = "" }) => ({ name: tool, arguments: args, output: parsedOutput(output) })),
  });
  const benign = lines.filter(({ kind }) => kind === "benign").map(runOf);
  // What no run of the same task does without an attack, the attacker wanted.
  const wanted = new Map<string, Set<string>>();
  for (const { task, calls } of benign) {
    const keys = wanted.get(task) ?? new Set();
    wanted.set(task, keys);
    for (const call of calls) keys.add(callKey(call.name, call.arguments));
  }
  const hijacked = lines
    .filter(({ kind }) => kind === "hijack")
    .map(runOf)
    .map((run) => ({
      ...run,
      attack: run.calls.filter(
        (call) => !isMild(call) && wanted.get(run.task)?.has(callKey(call.name, call.arguments)) !== true,
      ),
    }))
    .filter(({ attack }) => attack.length > 0);
  return { name, tools: toolsIn([...benign, ...hijacked]), ...described, benign, hijacked };
}

/** There are no schemas: a tool has the arguments that some call gave it. */
function toolsIn(runs: readonly Run[]): readonly RecordedTool[] {
  const names = new Map<string, Set<string>>();
  for (const { name, arguments: input } of runs.flatMap(({ calls }) => calls)) {
    const own = names.get(name) ?? new Set();
    names.set(name, own);
    for (const each of Object.keys(input)) own.add(each);
  }
  return Array.from(names, ([name, own]) => {
    const properties = Object.fromEntries([...own].sort().map((each) => [each, {}]));
    return { name, description: name, inputSchema: { type: "object", properties } };
  });
}

/** Tools of AgentDyn write lists and maps as YAML. */
function parsedOutput(output: string): JsonValue {
  try {
    const value: unknown = parse(output, { logLevel: "silent", maxAliasCount: 0 });
    return typeof value === "object" && value !== null
      ? (JSON.parse(JSON.stringify(value)) as JsonValue)
      : output;
  } catch {
    return output;
  }
}

async function readDescription(folder: string, suite: string, path: readonly string[]): Promise<Description> {
  const source = await readConfigFile(join(import.meta.dirname, folder, `${suite}.yaml`));
  const written = source.at(["sideEffects"]) as Readonly<Record<SideEffects, readonly string[]>>;
  return {
    sideEffects: new Map(
      Object.entries(written).flatMap(([effects, names]) =>
        names.map((name) => [name, effects as SideEffects] as const),
      ),
    ),
    untrusted: (source.at([...path, "untrusted"]) ?? []) as unknown as readonly UntrustedResult[],
  };
}

function mildness(sideEffects: ReadonlyMap<string, SideEffects>): (call: RecordedCall) => boolean {
  return ({ name }) => ["none", "read"].includes(sideEffects.get(name) ?? "");
}
