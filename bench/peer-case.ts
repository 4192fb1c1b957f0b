import { strictEqual } from "node:assert";
import { type Case, NotHereError, type OpenCase } from "./harness/case.ts";
import { INPUT, INPUT_SCHEMA, INPUT_TEXT, isInput } from "./setting.ts";

/** The exports of a module of bench/peers. It is JavaScript, because the types of its libraries are not installed. */
interface PeerModule {
  readonly [name: string]: (setting: Setting) => Pick<OpenCase, "run" | "close"> | Promise<OpenCase>;
}

const SETTING = { INPUT, INPUT_TEXT, INPUT_SCHEMA };

type Setting = typeof SETTING & { readonly calls: number };

/**
 * Returns a case that measures another library. Its `run` returns the echoed input or its text.
 *
 * @param calls How many calls one run makes. If there are several, `run` returns an array of their results.
 */
export function peerCase(name: string, module: string, exported = "open", calls = 1): Case {
  return {
    name,
    calls,
    isPeer: true,
    open: async () => {
      const peer = await load(module);
      const open = peer[exported];
      if (open === undefined) throw new Error(`bench/peers/${module}.mjs does not export '${exported}'`);
      const opened = await open({ ...SETTING, calls });
      return { ...opened, check: (given) => (calls > 1 ? checkAll(given, calls) : check(given)) };
    },
  };
}

function check(answer: unknown): void {
  isInput(typeof answer === "string" ? JSON.parse(answer) : answer);
}

function checkAll(answers: unknown, calls: number): void {
  strictEqual((answers as unknown[]).length, calls);
  (answers as unknown[]).forEach(check);
}

async function load(module: string): Promise<PeerModule> {
  try {
    return await import(new URL(`peers/${module}.mjs`, import.meta.url).href);
  } catch (error) {
    throw new NotHereError(error instanceof Error ? (error.message.split("\n", 1)[0] ?? "") : String(error));
  }
}
