/**
 * Installs the packed package in an empty folder, as a user would, compiles its types there with the defaults of
 * TypeScript 5.9 and 7, and runs the library and the command, in every sandbox and with a program that waits, on the current
 * Node.js and on Node.js 24.
 */
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { contractComponent } from "../test/fixtures/wasm/contract-component.ts";

const NODE_24 = "24.21.0";

/** The types need these, and no other packages. They are installed under names of their own, as both have a `tsc`. */
const COMPILERS = { "typescript-5": "npm:typescript@5.9.3", "typescript-7": "npm:typescript@7.0.2" };
const TYPES = "@types/node@24.12.2";

/** The optional peers that an entry point extends. All other entry points compile without theirs. */
const EXTENDED_PEERS: Readonly<Record<string, string>> = {
  "sandgate/opentelemetry": "@opentelemetry/api@1.9.1",
  "sandgate/piscina": "piscina@5.3.2",
};

/** The version before the one that the tests use. It needs an earlier API. */
const OLDER_TELEMETRY = "@opentelemetry/sdk-trace-base@2.12.1";

/** What projects set: TypeScript's defaults, and what changes how it reads types. */
const TYPE_OPTIONS = [
  "--module nodenext",
  "--module esnext --moduleResolution bundler --lib es2022 --strict",
];

/** A script takes half a minute. One that waits for what has failed would never end. */
const SCRIPT_MS = 300_000;

/** What a user installs takes at most so many KiB on the disk. */
const MAX_INSTALLED_KIB = 27_000;

function checkInstalledSize(installed: string): void {
  const [kib = ""] = execFileSync("du", ["-sk", installed], { encoding: "utf8" }).split("\t");
  console.log(`installed: ${kib} KiB`);
  if (Number(kib) > MAX_INSTALLED_KIB) throw new Error(`more than ${MAX_INSTALLED_KIB} KiB are installed`);
}

/** Compiles a use of each entry point, without `skipLibCheck`. */
function compileTypes(folder: string, entries: readonly string[]): void {
  const files = entries.map((entry, index) => {
    writeFileSync(join(folder, `${index}.ts`), `export * from ${JSON.stringify(entry)};\n`);
    return `${index}.ts`;
  });
  for (const compiler of Object.keys(COMPILERS)) {
    const tsc = join(folder, "node_modules", compiler, "bin/tsc");
    for (const options of TYPE_OPTIONS) {
      const args = [tsc, "--noEmit", "--target", "es2024", ...options.split(" "), ...files];
      execFileSync(process.execPath, args, { cwd: folder, stdio: "inherit" });
    }
  }
}

const folder = mkdtempSync(join(tmpdir(), "sandgate-packed-"));
try {
  const npm = (...args: string[]): void => void execFileSync("npm", args, { cwd: folder, stdio: "inherit" });
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { stdio: "inherit" });
  const tarball = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  if (tarball === undefined) throw new Error("npm pack did not create a tarball");
  writeFileSync(
    join(folder, "package.json"),
    JSON.stringify({
      name: "user",
      private: true,
      type: "module",
      allowScripts: { [`node@${NODE_24}`]: true },
    }),
  );
  npm("install", "--silent", "--no-audit", "--no-fund", `./${tarball}`);
  checkInstalledSize(join(folder, "node_modules"));
  const { exports } = JSON.parse(readFileSync(join(folder, "node_modules/sandgate/package.json"), "utf8"));
  const entries = Object.keys(exports)
    .filter((path) => !path.endsWith(".json"))
    .map((path) => path.replace(/^\./, "sandgate"));
  const compilers = Object.entries(COMPILERS).map(([name, source]) => `${name}@${source}`);
  npm("install", "--silent", "--no-audit", "--no-fund", TYPES, ...compilers);
  compileTypes(
    folder,
    entries.filter((entry) => EXTENDED_PEERS[entry] === undefined),
  );
  npm("install", "--silent", "--no-audit", "--no-fund", ...Object.values(EXTENDED_PEERS), OLDER_TELEMETRY);
  compileTypes(folder, entries);
  npm("install", "--silent", "--no-audit", "--no-fund", `node@${NODE_24}`);
  for (const file of readdirSync(`${import.meta.dirname}/packed`)) {
    copyFileSync(join(import.meta.dirname, "packed", file), join(folder, file));
  }
  copyFileSync(await contractComponent(), join(folder, "component.wasm"));
  for (const node of [process.execPath, join(folder, "node_modules/node/bin/node")]) {
    for (const script of ["library.mjs", "programs.mjs", "command.mjs", "telemetry.mjs"]) {
      execFileSync(node, [script], {
        cwd: folder,
        stdio: "inherit",
        timeout: SCRIPT_MS,
        killSignal: "SIGKILL",
      });
    }
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
