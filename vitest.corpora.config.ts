import type { ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = {
  test: { include: ["test/corpora/*.ts"], testTimeout: 60_000, maxWorkers: 1 },
};

export default config;
