import { readFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";

/** The machine and the versions that a run used. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly system: string;
  readonly node: string;
  /** The versions of this package and of those that it is compared with. */
  readonly packages: Readonly<Record<string, string>>;
  /** The machine's load average over one minute, before and after. Includes the benchmark itself. */
  readonly load: { readonly before: number; readonly after: number };
}

const ROOT = new URL("../../", import.meta.url);
const PACKAGES = ["ajv", "piscina", "undici", "quickjs-emscripten", "@bytecodealliance/jco-transpile"];

/** Describes this machine. */
export function describeMachine(loadBefore: number): Machine {
  return {
    cpu: cpus()[0]?.model ?? "unknown",
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.versions.node,
    packages: {
      sandgate: versionIn("package.json"),
      ...Object.fromEntries(PACKAGES.map((name) => [name, versionIn(`node_modules/${name}/package.json`)])),
    },
    load: { before: loadBefore, after: currentLoad() },
  };
}

/** Returns the load average of the last minute. */
export function currentLoad(): number {
  return Number((loadavg()[0] ?? 0).toFixed(2));
}

function versionIn(path: string): string {
  return String(JSON.parse(readFileSync(new URL(path, ROOT), "utf8")).version);
}
