import { RELEASE_SYNC } from "quickjs-emscripten";
import { INPUT_TEXT } from "../setting.ts";

/** Another way to run a tool in a heap of its own. */
export interface Peer {
  readonly name: string;
  run(): unknown;
  close(): unknown;
}

const ECHO = "((text) => JSON.stringify(((input) => input)(JSON.parse(text))))";

/**
 * A package of this folder, which is none of ours: `npm ci --prefix bench/peers` installs it.
 *
 * @returns `undefined`, and says so, where it is not installed or does not load.
 */
async function load<Package>(name: string): Promise<Package | undefined> {
  try {
    // The name is none that the compiler could look up: most checkouts do not have it.
    return (await import(name)) as Package;
  } catch {
    console.error(`(${name} is left out: npm ci --prefix bench/peers)`);
    return undefined;
  }
}

interface IsolatedVm {
  readonly default: {
    readonly Isolate: new (options: {
      memoryLimit: number;
    }) => {
      createContextSync(): { evalSync(code: string, options: { timeout: number }): unknown };
      dispose(): void;
    };
  };
}

/** isolated-vm: V8 itself, a new isolate for each call. */
export async function freshIsolate(): Promise<Peer | undefined> {
  const library = await load<IsolatedVm>("isolated-vm");
  if (library === undefined) return undefined;
  return {
    name: "isolated-vm: a new isolate and context, call, dispose",
    run: () => {
      const isolate = new library.default.Isolate({ memoryLimit: 64 });
      const code = `${ECHO}(${JSON.stringify(INPUT_TEXT)})`;
      const output = isolate.createContextSync().evalSync(code, { timeout: 1_000 });
      isolate.dispose();
      return output;
    },
    close: () => {},
  };
}

interface SandboxedQuickJs {
  loadQuickJs(variant: unknown): Promise<{
    runSandboxed(
      run: (sandbox: { evalCode(code: string): Promise<{ readonly data?: unknown }> }) => unknown,
      options: object,
    ): Promise<{ readonly data?: unknown }>;
  }>;
}

/** @sebastianwessel/quickjs: a new sandbox for each call. */
export async function freshSandbox(): Promise<Peer | undefined> {
  const library = await load<SandboxedQuickJs>("@sebastianwessel/quickjs");
  if (library === undefined) return undefined;
  const { runSandboxed } = await library.loadQuickJs(RELEASE_SYNC);
  const code = `export default ${ECHO}(${JSON.stringify(INPUT_TEXT)})`;
  return {
    name: "@sebastianwessel/quickjs: runSandboxed",
    run: async () => (await runSandboxed(({ evalCode }) => evalCode(code), {})).data,
    close: () => {},
  };
}
