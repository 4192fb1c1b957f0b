import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    // Tests start thread pools of their own; two files at once are enough for two cores.
    maxWorkers: 2,
  },
});
