import type { ViteUserConfig } from "vitest/config";

// Thousands of processes and threads of the tests load the same modules: they compile them once. .ci/run names the same folder.
process.env["NODE_COMPILE_CACHE"] ??= `${import.meta.dirname}/node_modules/.cache/node`;

const ALL = "test/**/*.test.ts";

/** Files that fake timers, listen to what their process does, or measure it: they need a process of their own. */
const ALONE = [
  ...[
    "base/timers/*",
    "engine/hung-decisions",
    "engine/mixed-load",
    "log/logged-warnings",
    "main-thread/program-stalls",
    "restate/calls/*",
  ],
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
        // A process for each file would load the same modules again: about half a second of a processor.
        extends: true,
        test: { name: "shared", include: [ALL], exclude: ALONE, isolate: false, ...LIMITS },
      },
      {
        extends: true,
        test: { name: "alone", include: ALONE, ...LIMITS },
      },
    ],
  },
};

export default config;
