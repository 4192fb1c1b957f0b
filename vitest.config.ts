import type { ViteUserConfig } from "vitest/config";

// Thousands of processes and threads of the tests load the same modules: they compile them once. .ci/run names the same folder.
process.env["NODE_COMPILE_CACHE"] ??= `${import.meta.dirname}/node_modules/.cache/node`;

const named = (files: readonly string[]): string[] => files.map((file) => `test/${file}.test.ts`);

const ALL = named(["**/*"]);

/**
 * Files that need Restate, virtual machines, a browser, npm or many processes that are killed, and those that take longest. `npm test`
 * leaves them out; `npm run test:all` runs them, too.
 */
const REST = named([
  // Restate
  "cli/commands/serve-restate",
  "docs/operating/durable-deployment",
  "docs/sessions/scale-out",
  "programs/suspension/interrupted-calls",
  "restate/connection/*",
  "restate/kill-points/*",
  "restate/programs/*",
  "restate/sessions/*",
  "restate/store/{confirmation-awakeables,principals,session-store}",
  // slow: start agents' hooks
  "guard/{failures,guard}",
  // PostgreSQL
  "cluster/{kill,postgres}/*",
  "record/{kills,postgres}/*",
  // QEMU
  "docs/tools/microvm",
  "sandboxes/closing",
  "sandboxes/microvm/microvm-sandbox",
  "sandboxes/microvm/qemu/*",
  // Chromium
  "console/{answer-link,live,overview,phone,reconnecting,spoofs,views,waiting*}",
  "rendering/page",
  // packages that are installed, packed or built
  "docs/tools/wasm-tools",
  "examples/{new-projects,wasm-tools}",
  // kills
  "changes/accepting/kill",
  "journal/{crashes,disks}",
  "races/kill/*",
  "sessions/store/kill/*",
  // what takes longest: more than all others together
  "changes/shadow/shadow",
  "cli/commands/check/{check,without-effect}",
  "cli/commands/doctor/doctor",
  "cli/commands/mcp/add",
  "cli/commands/{doors,journal,same-tools,serve-programs}",
  "cli/commands/store/store",
  "cli/commands/tool/grant",
  "cli/{exit-codes,spoofing}",
  "contract/lost-values",
  "docs/operating/{deployment,operate}",
  "docs/policies/policy-guide",
  "examples/coding-agent",
  "executor/{hardened,frames/hostile-clients}",
  "executor/once/waiting-calls",
  "journal/{edits,files-in-use}",
  "journal/diff/diff-policies",
  "journal/{history/list-calls,machines/verify-journals}",
  "mcp/import/{hostile-{calls,http,lists,servers},slow-servers}",
  "mcp/import/starting-servers",
  "mcp/conformance/run-scenarios",
  "mcp/server/{elicitation,programs,request-state,tool-search,stdio/gateway,stdio/peers}",
  "policy/file/{bounds,conditions-never-met}",
  "programs/{hostile-programs,types/type-checker}",
  "races/check",
  "sandboxes/contract/in-flight",
  "sandboxes/process/{call-network,completion,idle-programs,no-network,nothing-left,replaced-files,standard-streams}",
  "sandboxes/process/landlock/landlock-sandbox",
  "sandboxes/process/long-running/confined-programs",
  "sandboxes/process/shell/{persistent-shells,shell-output}",
  "sandboxes/quickjs/driver/web-apis",
  "sandboxes/remote/executor-client/{faults,lost-result,processes}",
  "sandboxes/remote/executor-client/frames/{framed-calls,hostile-executors}",
  "sandboxes/threads/{worker-pool,abandoned/abandoned-threads,abandoned/force-exit}",
  "sandboxes/wasm/{abi/lifted-memory,differential/components,exports/any-export,validation/validator}",
  "server/{agents,notifying/answer-links,notifying/notifying}",
  "supervisor/{hostile-agents,orphans}",
  "telemetry/configured",
  "toolsets/git/*",
  "toolsets/search/ripgrep",
  "toolsets/shell/background",
  "toolsets/toolsets",
  "workspace/guard/guard",
]);

/** Files with targets in both tiers: see `test/tier.ts`. */
const BOTH = named([
  "contract/contract",
  "programs/stores/contract",
  "cluster/sessions",
  "record/contract",
  "sessions/confirmations/broker",
  "sessions/store/{contract,interleavings.property}",
]);

/** Files that fake timers, listen to what their process does, or measure it: they need a process of their own. */
const ALONE = named([
  "base/timers/*",
  "cli/commands/check/check-guarded",
  "cli/config/guarded-programs",
  "engine/hung-decisions",
  "engine/mixed-load",
  "telemetry/logged-warnings",
  "restate/calls/*",
  "server/store",
  "sessions/cancelling",
  "sessions/ledger/conditions",
  "sessions/ledger/restart",
  "sessions/store/late-ends",
  "record/sqlite-backend",
]);

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
        test: {
          name: "shared",
          include: ALL,
          exclude: [...ALONE, ...REST, "**/node_modules/**"],
          isolate: false,
          provide: { tier: "fast" },
          ...LIMITS,
        },
      },
      {
        extends: true,
        test: { name: "alone", include: ALONE, exclude: REST, provide: { tier: "fast" }, ...LIMITS },
      },
      {
        extends: true,
        test: { name: "rest", include: [...REST, ...BOTH], provide: { tier: "rest" }, ...LIMITS },
      },
    ],
  },
};

export default config;
