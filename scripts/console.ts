import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "rolldown";

const SOURCE = join(import.meta.dirname, "../src/console");

/**
 * Builds the page of the console: `index.html`, and in `assets/` a script, a style sheet and an icon, which have a digest in their
 * names, so that browsers can cache them for ever; and `service-worker.js`, which browsers find by its name.
 *
 * @param folder Where the page is written. It is created.
 */
export async function buildConsole(folder: string): Promise<void> {
  const code = await scriptOf("main.tsx");
  mkdirSync(join(folder, "assets"), { recursive: true });
  writeFileSync(join(folder, "service-worker.js"), await scriptOf("service-worker.ts"));
  const icon = readFileSync(join(SOURCE, "icon.svg"), "utf8");
  const files = { "console.js": code, "console.css": styleSheet(), "icon.svg": icon };
  let page = readFileSync(join(SOURCE, "index.html"), "utf8");
  for (const [name, text] of Object.entries(files)) {
    const hashed = name.replace(".", `-${createHash("sha256").update(text).digest("hex").slice(0, 12)}.`);
    writeFileSync(join(folder, "assets", hashed), text);
    page = page.replace(`assets/${name}`, `assets/${hashed}`);
  }
  writeFileSync(join(folder, "index.html"), page);
}

/** Returns a script with everything that it imports. */
async function scriptOf(entry: string): Promise<string> {
  const { output } = await build({
    input: join(SOURCE, entry),
    tsconfig: join(SOURCE, "tsconfig.json"),
    platform: "browser",
    write: false,
    onLog: (_level, log) => {
      throw new Error(`rolldown: ${log.message}`);
    },
    output: { format: "es", minify: true, codeSplitting: false, comments: { legal: true } },
  });
  const [{ code }] = output;
  return code;
}

/** Returns the files that `console.css` imports, in its order, as one. */
function styleSheet(): string {
  const imported = readFileSync(join(SOURCE, "console.css"), "utf8").matchAll(/^@import "(.+)";$/gm);
  return [...imported]
    .map(([, file = ""]) => readFileSync(join(SOURCE, file), "utf8"))
    .join("\n")
    .replace(/\/\*.*?\*\//gs, "")
    .replace(/\n\s*/g, "\n")
    .trim();
}

/** Returns the files of a built page with their sizes in bytes. */
export function sizesOf(folder: string): ReadonlyMap<string, number> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  const sizes = files.map((file) => [file, statSync(join(folder, file))] as const);
  return new Map(sizes.filter(([, stat]) => stat.isFile()).map(([file, { size }]) => [file, size]));
}

if (import.meta.main) {
  const folder = mkdtempSync(join(tmpdir(), "console-"));
  await buildConsole(folder);
  const sizes = sizesOf(folder);
  for (const [file, size] of sizes) console.log(`${size.toLocaleString("en-US").padStart(8)} ${file}`);
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  console.log(`${total.toLocaleString("en-US").padStart(8)} bytes in all`);
  rmSync(folder, { recursive: true });
}
