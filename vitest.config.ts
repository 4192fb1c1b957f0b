import type { ViteUserConfig } from "vitest/config";

// Thousands of processes and threads of the tests load the same modules: they compile them once. .ci/run names the same folder.
process.env["NODE_COMPILE_CACHE"] ??= `${import.meta.dirname}/node_modules/.cache/node`;

const ALL = "test/**/*.test.ts";

/** The folders with tests that start processes, build programs or try thousands of inputs. */
const HEAVY = [
  ...[
    "agents",
    "base",
    "changes",
    "cli",
    "console",
    "contract",
    "docs",
    "engine",
    "entry",
    "escapes",
    "examples",
  ],
  ...["executor", "journal", "log", "main-thread", "mcp", "races", "rendering", "sandboxes", "server"],
  ...["programs", "restate", "scripts", "sessions", "supervisor", "toolsets", "workspace"],
].map((folder) => `test/${folder}/**/*.test.ts`);

const config: ViteUserConfig = {
  // Examples and documents import the package by its name; the tests test the sources.
  resolve: {
    alias: [
      { find: /^sandgate$/, replacement: `${import.meta.dirname}/src/entry/index.ts` },
      { find: /^sandgate\/(\w+)$/, replacement: `${import.meta.dirname}/src/entry/$1.ts` },
    ],
  },
  test: {
    // Many tests wait for processes and timers of theirs: two files at once leave a quarter of two cores idle.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        // They change nothing outside themselves, so that the files of a worker can share the modules they load.
        test: { name: "light", include: [ALL], exclude: HEAVY, testTimeout: 20_000, isolate: false },
      },
      {
        // Only what hangs reaches these limits, also where other programs keep the machine busy.
        extends: true,
        test: { name: "heavy", include: HEAVY, testTimeout: 120_000, hookTimeout: 60_000 },
      },
    ],
  },
};

export default config;
