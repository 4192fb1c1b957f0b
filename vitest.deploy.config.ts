import type { ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = {
  // The image is built once, before the tests of its file.
  test: { include: ["test/deploy/*.ts"], testTimeout: 120_000, hookTimeout: 900_000 },
};

export default config;
