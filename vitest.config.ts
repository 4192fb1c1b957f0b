import type { ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = {
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    // Tests start thread pools of their own; two files at once are enough for two cores.
    maxWorkers: 2,
  },
};

export default config;
