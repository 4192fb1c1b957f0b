import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, test } from "vitest";
import { WasmSandbox } from "../../../src/sandboxes/wasm/wasm-sandbox.ts";
import { builtComponent } from "../../fixtures/wasm/built-component.ts";
import { wasmTask } from "../../fixtures/wasm/task.ts";

const cacheDirectory = mkdtempSync(join(tmpdir(), "sandgate-quickstart-"));
const sandbox = new WasmSandbox({ cacheDirectory, workers: { threads: 1 } });
const wasm = { component: await builtComponent("examples/quickstart/wasm/assembly/index.ts", "tool") };
afterAll(async () => {
  await sandbox.close();
  rmSync(cacheDirectory, { recursive: true, force: true });
});

function similarNames(input: object): ReturnType<typeof sandbox.run> {
  return sandbox.run(
    wasmTask(wasm.component, "similar_names", structuredClone(input) as never, {
      implementations: { wasm },
    }),
  );
}

/** A slow reference implementation of the Levenshtein distance. */
function distance(a: string, b: string): number {
  if (a === "" || b === "") return a.length + b.length;
  const [restA, restB] = [a.slice(1), b.slice(1)];
  if (a[0] === b[0]) return distance(restA, restB);
  return 1 + Math.min(distance(restA, b), distance(a, restB), distance(restA, restB));
}

describe("the example's similar_names", () => {
  test("similar_names ranks names by their edit distance", async () => {
    const candidates = ["refusal", "registry", "reporter", "regsitry"];
    expect(await similarNames({ query: "regsitry", candidates })).toMatchObject({
      output: [
        { name: "regsitry", distance: 0 },
        { name: "registry", distance: 2 },
        { name: "reporter", distance: expect.any(Number) },
        { name: "refusal", distance: expect.any(Number) },
      ],
    });
  });

  test("similar_names ignores unknown members, and fails if a required one is missing", async () => {
    const more = { extra: [{ a: [1.5e-3, true] }, "]", null], query: "a", candidates: [] };
    expect(await similarNames(more)).toMatchObject({ output: [] });
    expect(await similarNames({ candidates: [] })).toMatchObject({
      status: "failed",
      message: "the input must be { query: string, candidates: string[] }",
    });
    expect(await similarNames({ query: 1, candidates: "no" })).toMatchObject({ status: "failed" });
  });

  test("similar_names reads and writes any JSON string", async () => {
    const text = fc.string({ unit: "binary", maxLength: 5 });
    const lone = fc.constantFrom("\ud800", "a\udc00\ud800", '"\\/\b\f\n\r\t\u0000\u007f\u2028');
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.oneof(text, lone), { maxLength: 3 }), async (query, candidates) => {
        const outcome = await similarNames({ query, candidates });
        const expected = candidates
          // Half a surrogate pair is replaced in the output.
          .map((name) => ({ name: name.toWellFormed(), distance: distance(query, name) }))
          .sort((a, b) => a.distance - b.distance);
        expect(outcome).toMatchObject({ status: "completed", output: expected });
      }),
      { numRuns: 100 },
    );
  });
});
