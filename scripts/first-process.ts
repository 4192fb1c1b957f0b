/**
 * Compiles the programs of the package that are not JavaScript: the first process of virtual machines
 * (`src/sandboxes/microvm/guest/first-process.c`), and the hook of coding agents (`src/guard/hook.c`). Each is written to a module beside it,
 * `NAME-binary.ts`. With `--check` it writes nothing, and fails if the compiled bytes are not those of these files. Either way it also
 * compiles the first process for arm64, which is not shipped.
 *
 *     node scripts/first-process.ts [--check]
 *
 * Needs Debian's packages clang and lld. Other versions may compile to other bytes: those in the tree are of Debian 12
 * (clang 14).
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { FIRST_PROCESS_MACROS } from "../src/sandboxes/microvm/guest/first-process.ts";

/** A program, and what its module exports. */
interface Program {
  /** The path from `src`, without the extension. */
  readonly path: string;
  readonly macros: Readonly<Record<string, string | number>>;
  /** The beginning of the names of constants. */
  readonly constant: string;
  readonly hasDigest: boolean;
}

const PROGRAMS: readonly Program[] = [
  {
    path: "sandboxes/microvm/guest/first-process",
    macros: FIRST_PROCESS_MACROS,
    constant: "FIRST_PROCESS",
    hasDigest: true,
  },
  { path: "guard/hook", macros: {}, constant: "HOOK", hasDigest: false },
];

const SOURCES = join(import.meta.dirname, "../src");

// One segment that is read and executed, and one that is read and written.
const LINKER =
  "--strip-all,--no-rosegment,-z,noseparate-code,-z,norelro,-z,nognustack,--build-id=none,-z,max-page-size=4096";
const OPTIONS = [
  "-std=c11",
  "-Os",
  "-Wall",
  "-Wextra",
  "-Werror",
  "-ffreestanding",
  "-fno-strict-aliasing",
  "-fno-stack-protector",
  "-fno-pic",
  "-fno-asynchronous-unwind-tables",
  "-fno-ident",
  "-fomit-frame-pointer",
  "-nostdlib",
  "-static",
  "-fuse-ld=lld",
  `-Wl,${LINKER}`,
];

function compile({ path, macros }: Program, machine: "x86_64" | "aarch64"): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "first-process-"));
  const file = join(folder, "program");
  try {
    const defined = Object.entries(macros).map(([name, value]) => `-D${name}=${value}`);
    const target = `--target=${machine}-linux-gnu`;
    const source = join(SOURCES, `${path}.c`);
    execFileSync("clang", [target, ...OPTIONS, ...defined, source, "-o", file], { stdio: "inherit" });
    return readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the source of the module with the program. */
function moduleOf({ path, constant, hasDigest }: Program, program: Buffer): string {
  const digest = createHash("sha256").update(program).digest("hex");
  const lines = program.toString("base64").match(/.{1,100}/g) ?? [];
  const exported = `/** SHA-256 of the program. */\nexport const ${constant}_DIGEST = "${digest}";\n\n`;
  return `// Written by scripts/first-process.ts from ${basename(path)}.c, and checked by .ci/run.

${hasDigest ? exported : ""}/** The program for x86-64, as base64. */
export const ${constant}_X64: string = [
${lines.map((line) => `  "${line}",`).join("\n")}
].join("");
`;
}

for (const program of PROGRAMS) {
  const compiled = moduleOf(program, compile(program, "x86_64"));
  const binary = join(SOURCES, `${program.path}-binary.ts`);
  if (!process.argv.includes("--check")) writeFileSync(binary, compiled);
  else if (readFileSync(binary, "utf8") !== compiled)
    throw new Error(
      `${program.path}-binary.ts is not what the C file compiles to: run node scripts/first-process.ts`,
    );
}
const [firstProcess] = PROGRAMS;
if (firstProcess !== undefined) compile(firstProcess, "aarch64");
