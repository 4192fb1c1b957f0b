import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { BUNDLED } from "../../scripts/bundled-packages.ts";
import { readSbom } from "../../scripts/sbom.ts";

test("the SBOM has the dependencies and the bundled packages with their versions, and no tools of development", () => {
  const { components, dependencies } = readSbom() as {
    readonly components: readonly {
      readonly name: string;
      readonly group?: string;
      readonly version: string;
      readonly "bom-ref": string;
    }[];
    readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  };
  const versions = new Map(
    components.map(({ group, name, version }) => [
      group === undefined || name.startsWith("@") ? name : `${group}/${name}`,
      version,
    ]),
  );
  const manifest = JSON.parse(readFileSync("package.json", "utf8"));
  for (const [name, version] of Object.entries(manifest.dependencies))
    expect(versions.get(name), name).toBe(version);
  for (const name of BUNDLED) {
    const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
    expect(versions.get(name), name).toBe(version);
  }
  for (const name of ["typescript", "vitest", "@biomejs/biome"]) expect(versions.has(name), name).toBe(false);
  const refs = new Set(dependencies.map(({ ref }) => ref));
  expect(components.filter((component) => !refs.has(component["bom-ref"]))).toEqual([]);
  const own = dependencies.find(({ ref }) => ref.startsWith("sandgate@"));
  expect(own?.dependsOn.some((ref) => ref.startsWith("ajv@"))).toBe(true);
});
