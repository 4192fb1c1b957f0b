import type { Environment, Way } from "./environment.ts";
import { NEXT } from "./next.ts";

const MAIN = ["node", "main.mjs"];

/** A bundler with a command line of its own, once with everything in the bundle and once without Sandgate. */
function bundled(
  build: readonly string[],
  external: readonly string[],
  run: readonly string[],
): readonly Way[] {
  return [
    { name: "bundled", build, run },
    { name: "external", build: [...build, ...external], run },
  ];
}

/** Returns the ways of a bundler that reads a file of options, which differ in one of them. */
function configured(
  file: string,
  configOf: (isExternal: boolean) => string,
  command: Pick<Way, "build" | "run">,
): readonly Way[] {
  return (["bundled", "external"] as const).map((name) => ({
    ...command,
    name,
    files: { [file]: configOf(name === "external") },
  }));
}

const ESBUILD = ["node_modules/.bin/esbuild", "main.mjs", "--bundle", "--platform=node"];

export const ENVIRONMENTS: readonly Environment[] = [
  {
    name: "Node.js 26",
    packages: [],
    ways: [
      { name: "import", run: MAIN },
      { name: "require", run: ["node", "main.cjs"] },
    ],
  },
  {
    name: "Node.js 24",
    packages: ["node@24.21.0"],
    scripts: ["node@24.21.0"],
    ways: [
      { name: "import", run: ["node_modules/node/bin/node", "main.mjs"] },
      { name: "require", run: ["node_modules/node/bin/node", "main.cjs"] },
    ],
  },
  {
    name: "esbuild",
    packages: ["esbuild@0.28.2"],
    ways: bundled(
      [...ESBUILD, "--format=esm", "--outfile=out/main.mjs"],
      ["--external:sandgate"],
      ["node", "out/main.mjs"],
    ),
  },
  {
    name: "esbuild, CommonJS",
    packages: ["esbuild@0.28.2"],
    ways: bundled(
      [...ESBUILD, "--format=cjs", "--log-level=error", "--outfile=out/main.cjs"],
      ["--external:sandgate"],
      ["node", "out/main.cjs"],
    ),
  },
  {
    name: "rolldown",
    packages: ["rolldown@1.3.2"],
    ways: bundled(
      ["node_modules/.bin/rolldown", "main.mjs", "--platform=node", "--dir=out"],
      ["--external=sandgate"],
      ["node", "out/main.js"],
    ),
  },
  {
    name: "webpack",
    packages: ["webpack@5.112.2"],
    ways: configured(
      "build.mjs",
      (isExternal) => `import webpack from "webpack";
const externals = ${isExternal ? '{ sandgate: "module sandgate" }' : "{}"};
webpack({
  mode: "production", target: "node24", entry: "./main.mjs", externals, experiments: { outputModule: true },
  output: { path: process.cwd() + "/out", filename: "main.mjs", module: true },
}, (error, stats) => {
  if (error ?? stats.hasErrors()) { console.error(error ?? stats.toString("errors-only")); process.exit(1); }
});
`,
      { build: ["node", "build.mjs"], run: ["node", "out/main.mjs"] },
    ),
  },
  {
    name: "Vite, SSR",
    packages: ["vite@8.3.8"],
    ways: configured(
      "vite.config.mjs",
      (isExternal) =>
        `export default { ssr: ${isExternal ? '{ external: ["sandgate"] }' : "{ noExternal: true }"}, logLevel: "error" };\n`,
      {
        build: ["node_modules/.bin/vite", "build", "--ssr", "main.mjs", "--outDir", "out"],
        run: ["node", "out/main.js"],
      },
    ),
  },
  NEXT,
  {
    name: "Deno",
    packages: ["deno@2.9.6"],
    scripts: ["deno@2.9.6"],
    ways: [{ name: "import", run: ["node_modules/.bin/deno", "run", "--allow-all", "main.mjs"] }],
  },
  {
    name: "Bun",
    packages: ["bun@1.4.5"],
    scripts: ["bun@1.4.5"],
    ways: [{ name: "import", run: ["node_modules/.bin/bun", "main.mjs"] }],
  },
];
