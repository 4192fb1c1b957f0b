// Compiles the C files of this folder to dist/tool.wasm, a component that targets the world `tool` of wit/tool.wit.
import { execFileSync } from "node:child_process";
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { componentEmbed, componentNew, preview1AdapterReactorPath } from "@bytecodealliance/jco";

process.chdir(import.meta.dirname);
mkdirSync("dist", { recursive: true });

// Debian's clang (with lld, wasi-libc and libclang-rt-dev-wasm32), or the clang of a wasi-sdk.
const clang = process.env.CC ?? "clang";
const flags = ["--target=wasm32-wasi", "-mexec-model=reactor", "-O2", "-Wall", "-Wextra", "-Werror"];
execFileSync(clang, [...flags, "-o", "dist/core.wasm", ...globSync("*.c")], { stdio: "inherit" });

const core = await componentEmbed({
  binary: readFileSync("dist/core.wasm"),
  witSource: readFileSync("wit/tool.wit", "utf8"),
  world: "tool",
  stringEncoding: "utf8",
});
// The C library uses WASI 0.1; the adapter translates its calls to WASI 0.2.
const adapter = readFileSync(preview1AdapterReactorPath());
writeFileSync("dist/tool.wasm", await componentNew(core, [["wasi_snapshot_preview1", adapter]]));
