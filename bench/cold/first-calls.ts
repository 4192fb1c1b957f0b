import { deepStrictEqual, strictEqual } from "node:assert";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { contractComponent } from "../../test/fixtures/wasm/contract-component.ts";
import type { Case, OpenCase, Question } from "../harness/case.ts";
import { startEchoServer } from "../remote/echo-server.ts";
import { INPUT } from "../setting.ts";
import { runFile } from "./fresh-process.ts";

const FIRST_CALL = fileURLToPath(new URL("../fixtures/first-call.mjs", import.meta.url));

/** Packages that must not be loaded if only host tools are used. */
const NOT_FOR_HOST = /jco|quickjs|undici/;

/** The cost of the first call in each sandbox in a new process, and the modules that it loads. */
export const firstCalls: Question = {
  name: "cold-first-call",
  cases: [
    {
      name: 'a process that does import "sandgate"',
      open: () => ({
        run: () => runFile(FIRST_CALL, "none"),
        check: (output) => strictEqual(output, "null"),
      }),
    },
    hostCase(),
    firstCall("host worker", () => ["worker"]),
    firstCall("QuickJS (nothing of it is kept on disk)", () => ["quickjs"]),
    firstHttpCall(),
    firstCall("Wasm, with an empty cache", async (folder, run) => [
      "wasm",
      await contractComponent(),
      join(folder, String(run)),
    ]),
    firstCall("Wasm, with a warm cache", async (folder) => [
      "wasm",
      await contractComponent(),
      join(folder, "kept"),
    ]),
  ],
};

/** Also checks a guarantee of the package: using only host tools does not load jco, QuickJS or undici. */
function hostCase(): Case {
  const name = "first dispatch of a host tool, of which nothing of jco, QuickJS and undici is loaded";
  const open = (): OpenCase => {
    let modules = 0;
    return {
      run: () => runFile(FIRST_CALL, "host"),
      check: (printed) => {
        const { output, loaded } = JSON.parse(String(printed));
        deepStrictEqual(output, INPUT);
        deepStrictEqual(
          loaded.filter((url: string) => NOT_FOR_HOST.test(url)),
          [],
        );
        modules = loaded.length;
      },
      observed: () => ({ "modules loaded": modules }),
    };
  };
  return { name, open };
}

function firstCall(
  what: string,
  argumentsOf: (folder: string, run: number) => readonly string[] | Promise<readonly string[]>,
): Case {
  const open = async (): Promise<OpenCase> => {
    const folder = await mkdtemp(join(tmpdir(), "sandgate-bench-"));
    let args: readonly string[] = [];
    let runs = 0;
    return {
      before: async () => {
        args = await argumentsOf(folder, runs++);
      },
      run: () => runFile(FIRST_CALL, ...args),
      check: isFirstCall,
      close: () => rm(folder, { recursive: true, force: true }),
    };
  };
  return { name: `first dispatch: ${what}`, open };
}

function firstHttpCall(): Case {
  const open = async (): Promise<OpenCase> => {
    const server = await startEchoServer();
    const run = (): Promise<string> => runFile(FIRST_CALL, "remote", server.origin);
    return { run, check: isFirstCall, close: () => server.close() };
  };
  return { name: "first dispatch: HTTP tool", open };
}

function isFirstCall(printed: unknown): void {
  deepStrictEqual(JSON.parse(String(printed)).output, INPUT);
}
