import type { ViteUserConfig } from "vitest/config";

// Thousands of processes and threads of the tests load the same modules: they compile them once. .ci/run names the same folder.
process.env["NODE_COMPILE_CACHE"] ??= `${import.meta.dirname}/node_modules/.cache/node`;

const ALL = "test/**/*.test.ts";

const inFolders = (folders: readonly string[]): string[] =>
  folders.map((folder) => `test/${folder}/**/*.test.ts`);

/** The folders with tests that start processes, build programs or try thousands of inputs. */
const HEAVY = inFolders([
  ...["changes", "cli", "console", "contract", "docs", "escapes", "examples"],
  ...["executor", "journal", "main-thread", "mcp", "races", "rendering", "sandboxes"],
  ...["programs", "restate", "scripts", "supervisor"],
]);

/** The folders with tests that take as long, and leave their process as it was. */
const SHARED = inFolders([
  "agents",
  "base",
  "engine",
  "entry",
  "log",
  "server",
  "sessions",
  "toolsets",
  "workspace",
]);

/** Files of these folders that fake timers, listen to what their process does, or measure it: they need one of their own. */
const ALONE = [
  ...["base/timers/*", "engine/hung-decisions", "engine/mixed-load", "log/logged-warnings"],
  ...["server/notifying/notifying", "server/store", "sessions/cancelling", "sessions/ledger/conditions"],
  ...["sessions/ledger/restart", "sessions/store/late-ends", "sessions/store/sqlite/grouped-commits"],
].map((file) => `test/${file}.test.ts`);

/** Only what hangs reaches these limits, also where other programs keep the machine busy. */
const LIMITS = { testTimeout: 120_000, hookTimeout: 60_000 };

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
        test: {
          name: "light",
          include: [ALL],
          exclude: [...HEAVY, ...SHARED],
          testTimeout: 20_000,
          isolate: false,
        },
      },
      {
        // A process for each file would load the same modules again: about half a second of a processor.
        extends: true,
        test: { name: "shared", include: SHARED, exclude: ALONE, isolate: false, ...LIMITS },
      },
      {
        extends: true,
        test: { name: "heavy", include: [...HEAVY, ...ALONE], ...LIMITS },
      },
    ],
  },
};

export default config;
