import { readdirSync, readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type ModelProvider, startModelProvider } from "../../examples/model-provider.ts";

const NAMES = readdirSync("examples/recipes").map((file) => file.replace(".mjs", ""));

test("every recipe has a page with its program, and every page has a recipe", () => {
  expect(readdirSync("docs/recipes")).toEqual(NAMES.map((name) => `${name}.md`));
  for (const name of NAMES) {
    const [, code] = /^```js\n(.*?)^```$/ms.exec(readFileSync(`docs/recipes/${name}.md`, "utf8")) ?? [];
    expect(code, name).toBe(readFileSync(`examples/recipes/${name}.mjs`, "utf8"));
  }
});

// `npm run test:recipes` runs all of them: the other packages are not installed here.
describe.each(["openai-responses", "anthropic"])("the recipe %s", (name) => {
  let model: ModelProvider;
  beforeEach(async () => {
    model = await startModelProvider();
    for (const [variable, value] of Object.entries(model.env)) vi.stubEnv(variable, value);
    vi.resetModules();
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await model.close();
  });

  test("answers the model's call and prints what the model says then", async () => {
    const print = vi.spyOn(console, "log").mockImplementation(() => {});
    await import(`../../../examples/recipes/${name}.mjs`);
    expect(print.mock.calls).toEqual([["It is 5"]]);
    expect(model.paths).toHaveLength(2);
  });
});
