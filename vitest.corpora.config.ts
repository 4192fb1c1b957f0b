import type { ViteUserConfig } from "vitest/config";

/** The tests that measure times and memory run one after another, when the others have ended. */
const MEASURED = ["bombs", "faults", "faults-executor", "mcp", "quickjs", "wasm"].map(
  (name) => `test/corpora/${name}.ts`,
);

const config: ViteUserConfig = {
  test: {
    projects: [
      {
        test: {
          name: "content",
          include: ["test/corpora/*.ts"],
          exclude: MEASURED,
          testTimeout: 120_000,
          maxWorkers: 2,
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: "measured",
          include: MEASURED,
          testTimeout: 60_000,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
};

export default config;
