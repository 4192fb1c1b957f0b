import type { ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = {
  // One after another: they measure times and memory.
  test: { include: ["test/guests/*.ts"], testTimeout: 120_000, maxWorkers: 1 },
};

export default config;
