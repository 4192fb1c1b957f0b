import { existsSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  allow,
  type JsonObject,
  openSandboxes,
  type SandboxMode,
  type Tool,
  ToolDispatchEngine,
  ToolRegistry,
} from "sandgate";
import { registerToolset } from "sandgate/toolsets";
import { type Case, NotHereError, type OpenCase, type Question } from "../harness/case.ts";
import { outputOf } from "../setting.ts";
import { MATCHES, makeDirectory, makeTree, PATTERN, removeDirectory } from "./files.ts";

const RIPGREP = "/usr/bin/rg";

/** The same search by ripgrep itself, without what `grep` adds: the order, the bounds and the form of its output. */
const RIPGREP_ALONE: Tool = {
  name: "ripgrep",
  description: "",
  inputSchema: {},
  process: {
    command: "rg",
    args: ["--hidden", "--line-number", "-g", "!.git", "-e", PATTERN, "--", "."],
    input: "none",
    output: "text",
  },
};

/** Dispatches calls of a tool in a directory, which is also the session's workspace. */
async function openTool(
  name: string,
  sandbox: SandboxMode,
  directory: string,
  args: JsonObject,
): Promise<OpenCase> {
  const registry = new ToolRegistry().register(RIPGREP_ALONE);
  registerToolset(registry, "fs");
  registerToolset(registry, "search");
  const sandboxes = await openSandboxes();
  const decision = allow({ sandbox, capabilities: { fs: [{ directory }] } });
  const ctx = {
    registry,
    sandboxes,
    sessionId: "bench",
    workspace: directory,
    policy: { check: () => decision },
  };
  const engine = new ToolDispatchEngine();
  const call = { id: "call", name, arguments: JSON.stringify(args) };
  return {
    run: () => engine.dispatch(call, ctx),
    check: (execution) => void outputOf(execution),
    close: async () => {
      await sandboxes.close();
      removeDirectory(directory);
    },
  };
}

async function openGrep(sandbox: SandboxMode): Promise<OpenCase> {
  if (sandbox === "process" && !existsSync(RIPGREP)) throw new NotHereError(`there is no ${RIPGREP}`);
  const opened = await openTool("grep", sandbox, makeTree(), { pattern: PATTERN, limit: 1_000 });
  const check = (execution: unknown): void => {
    const { matches } = outputOf(execution) as { readonly matches?: readonly unknown[] };
    if (matches?.length !== MATCHES)
      throw new Error(`wrong result: ${JSON.stringify(execution).slice(0, 500)}`);
  };
  return { ...opened, check };
}

async function openRipgrep(): Promise<OpenCase> {
  if (!existsSync(RIPGREP)) throw new NotHereError(`there is no ${RIPGREP}`);
  const opened = await openTool("ripgrep", "process", makeTree(), {});
  const check = (execution: unknown): void => {
    const text = String(outputOf(execution));
    if (text.split("\n").length !== MATCHES + 1) throw new Error(`wrong result: ${text.slice(0, 500)}`);
  };
  return { ...opened, check };
}

const grep: Question = {
  name: "toolsets-grep",
  cases: [
    { name: "dispatch of ripgrep alone in the sandbox process, 10,000 files", open: openRipgrep },
    { name: "dispatch of grep in the sandbox process", open: () => openGrep("process") },
    { name: "dispatch of grep on the host", open: () => openGrep("host") },
  ],
};

const LINE = "A line of a text file, as there are many.\n";

function textOf(bytes: number): string {
  return LINE.repeat(Math.ceil(bytes / LINE.length)).slice(0, bytes);
}

function readCases(bytes: number): readonly Case[] {
  const size = `${bytes / 1_024} KiB`;
  const makeFile = (): string => {
    const directory = makeDirectory();
    writeFileSync(join(directory, "a.txt"), textOf(bytes));
    return directory;
  };
  const openBare = (): OpenCase => {
    const directory = makeFile();
    return {
      run: () => readFile(join(directory, "a.txt"), "utf8"),
      check: (text) => {
        if (text !== textOf(bytes)) throw new Error("wrong text");
      },
      close: () => removeDirectory(directory),
    };
  };
  const openRead = async (): Promise<OpenCase> => {
    const opened = await openTool("read_file", "host", makeFile(), { path: "a.txt" });
    const check = (execution: unknown): void => {
      const { content } = outputOf(execution) as { readonly content?: string };
      if (content === undefined || !textOf(bytes).startsWith(content)) throw new Error("wrong text");
    };
    return { ...opened, check };
  };
  return [
    { name: `fs.promises.readFile as UTF-8, ${size}`, open: openBare },
    { name: `dispatch of read_file, ${size}`, open: openRead },
  ];
}

/** The questions about the tools of toolsets. */
export const questions: readonly Question[] = [
  grep,
  { name: "toolsets-read-small", cases: readCases(4 * 1_024) },
  { name: "toolsets-read-large", cases: readCases(256 * 1_024) },
];
