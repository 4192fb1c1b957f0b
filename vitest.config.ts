import type { ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = {
  // Examples and documents import the package by its name; the tests test the sources.
  resolve: {
    alias: [
      { find: /^sandgate$/, replacement: `${import.meta.dirname}/src/entry/index.ts` },
      { find: /^sandgate\/(\w+)$/, replacement: `${import.meta.dirname}/src/entry/$1.ts` },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    // Tests start thread pools of their own; two files at once are enough for two cores.
    maxWorkers: 2,
  },
};

export default config;
