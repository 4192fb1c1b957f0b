/**
 * Compiles the first process of virtual machines (`src/sandboxes/microvm/guest/first-process.c`), and writes it to
 * `first-process-binary.ts` beside it. With `--check` it writes nothing, and fails if the compiled bytes are not those of that
 * file. Either way it also compiles for arm64, which is not shipped.
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
import { join } from "node:path";
import { FIRST_PROCESS_MACROS } from "../src/sandboxes/microvm/guest/first-process.ts";

const FOLDER = join(import.meta.dirname, "../src/sandboxes/microvm/guest");
const SOURCE = join(FOLDER, "first-process.c");
const BINARY = join(FOLDER, "first-process-binary.ts");

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

function compile(machine: "x86_64" | "aarch64"): Buffer {
  const folder = mkdtempSync(join(tmpdir(), "first-process-"));
  const file = join(folder, "program");
  try {
    const macros = Object.entries(FIRST_PROCESS_MACROS).map(([name, value]) => `-D${name}=${value}`);
    const target = `--target=${machine}-linux-gnu`;
    execFileSync("clang", [target, ...OPTIONS, ...macros, SOURCE, "-o", file], { stdio: "inherit" });
    return readFileSync(file);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Returns the source of the module with the program. */
function moduleOf(program: Buffer): string {
  const digest = createHash("sha256").update(program).digest("hex");
  const lines = program.toString("base64").match(/.{1,100}/g) ?? [];
  return `// Written by scripts/first-process.ts from first-process.c, and checked by .ci/run.

/** SHA-256 of the program. */
export const FIRST_PROCESS_DIGEST = "${digest}";

/** The program for x86-64, as base64. */
export const FIRST_PROCESS_X64: string = [
${lines.map((line) => `  "${line}",`).join("\n")}
].join("");
`;
}

const compiled = moduleOf(compile("x86_64"));
compile("aarch64");
if (!process.argv.includes("--check")) writeFileSync(BINARY, compiled);
else if (readFileSync(BINARY, "utf8") !== compiled) {
  throw new Error(
    "first-process-binary.ts is not what first-process.c compiles to: run node scripts/first-process.ts",
  );
}
