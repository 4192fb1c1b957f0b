import { isolatedDeclarationSync } from "rolldown/experimental";
import { describe, expect, test } from "vitest";
import { circles } from "./architecture/circles.ts";
import { files, imports, loadedWith, sourceOf, startFiles } from "./architecture/import-graph.ts";
import {
  enteredByHostCall,
  enteredByHttpTurn,
  exportedNames,
  longestChain,
  type Measure,
  measureTable,
  smallFilesOfOne,
  smallFolders,
  testsOfInsides,
} from "./architecture/measures.ts";
import { moduleOf, readModuleTable } from "./architecture/module-table.ts";

const modules = readModuleTable();

test("Exports have types of their own, except shapes, whose types are inferred", () => {
  const inferred = files.filter(
    (file) => isolatedDeclarationSync(file, sourceOf(file)).errors.length > 0 && !hasShapes(file),
  );
  expect(inferred).toEqual([]);
});

test("The page and its client import only types of shapes, so that they do not load their checks", () => {
  const client = "shapes/client.ts";
  const loading = files.filter((file) => {
    const from = file === client ? "" : "(?!.*/shapes/client\\.ts).*/shapes/";
    if (!file.startsWith("console/") && file !== client) return false;
    return new RegExp(`^import (?!type )[^;]*from "${from}`, "m").test(sourceOf(file));
  });
  expect(loading).toEqual([]);
});

function hasShapes(file: string): boolean {
  return file.startsWith("shapes/") || /\bTypeOf<typeof /.test(sourceOf(file));
}

describe("The table of modules in CONTRIBUTING.md", () => {
  test("names every module of src, and no other", () => {
    const used = new Set(files.map((file) => moduleOf(file, modules)));
    const outside = files.filter((file) => moduleOf(file, modules) === "");
    expect(outside.filter((file) => !file.startsWith("entry/"))).toEqual([]);
    expect(modules.map(({ path }) => path).filter((path) => !used.has(path))).toEqual([]);
  });

  test("lists a module below everything that it may import", () => {
    const paths = modules.map(({ path }) => path);
    const pointingUp = modules.flatMap(({ path, mayImport }) =>
      [...mayImport]
        .filter((other) => paths.indexOf(other) < 0 || paths.indexOf(other) >= paths.indexOf(path))
        .map((other) => `${path} → ${other}`),
    );
    expect(pointingUp).toEqual([]);
  });

  test("allows every import between modules", () => {
    const wrong = imports.filter(({ from, to }) => {
      const [module, other] = [moduleOf(from, modules), moduleOf(to, modules)];
      return (
        module !== "" &&
        module !== other &&
        !modules.find(({ path }) => path === module)?.mayImport.has(other)
      );
    });
    expect(wrong.map(({ from, to }) => `${from} → ${to}`)).toEqual([]);
  });

  test("allows no import that the code does not have", () => {
    const unused = modules.flatMap(({ path, mayImport }) =>
      [...mayImport]
        .filter(
          (other) =>
            !imports.some(
              ({ from, to }) => moduleOf(from, modules) === path && moduleOf(to, modules) === other,
            ),
        )
        .map((other) => `${path} → ${other}`),
    );
    expect(unused).toEqual([]);
  });
});

describe("The imports of src", () => {
  test("form no circle of files, not even of types", () => {
    const edges = new Map(files.map((file) => [file, new Set<string>()]));
    for (const { from, to } of imports) edges.get(from)?.add(to);
    expect(circles(edges)).toEqual([]);
  });

  test("include none of an entry point", () => {
    expect(imports.filter(({ to }) => to.startsWith("entry/"))).toEqual([]);
  });

  const folders = new Set(
    files.flatMap((file) => file.split("/").map((_, depth, parts) => parts.slice(0, depth).join("/"))),
  );

  test.each([...folders].sort())("form no circle between the files and folders in src/%s", (folder) => {
    const prefix = folder === "" ? "" : `${folder}/`;
    const childOf = (file: string): string | undefined =>
      file.startsWith(prefix) ? file.slice(prefix.length).split("/")[0] : undefined;
    const edges = new Map<string, Set<string>>();
    for (const { from, to } of imports) {
      const [child, other] = [childOf(from), childOf(to)];
      if (child === undefined || other === undefined || child === other) continue;
      edges.set(child, (edges.get(child) ?? new Set()).add(other));
    }
    expect(circles(edges)).toEqual([]);
  });
});

test("Only src/telemetry imports OpenTelemetry, which not every embedder has installed", () => {
  const importing = files.filter((file) => /from "@opentelemetry\//.test(sourceOf(file)));
  expect(new Set(importing.map((file) => moduleOf(file, modules)))).toEqual(new Set(["telemetry"]));
  const loading = ["index", "components", "executor", "protocols"].filter((entry) =>
    [...loadedWith(`entry/${entry}.ts`)].some((file) => importing.includes(file)),
  );
  expect(loading).toEqual([]);
});

describe("A thread or a child process", () => {
  const outside = /^(?:egress|engine|protocols|executor|cli)\/|\/worker-pool\.ts$|-sandbox\.ts$/;

  test.each(startFiles())("that starts with %s loads no pool, sandbox, egress or engine", (entry) => {
    expect([...loadedWith(entry)].filter((file) => outside.test(file))).toEqual([]);
  });
});

test("A test that imports an inside of a module says why, above the import, and no other test does", () => {
  const without = testsOfInsides().filter(({ hasReason }) => !hasReason);
  // Import a face instead, or write `// Inside: REASON.` in the line above the import.
  expect(without.map(({ test, insides }) => `${test}: ${insides.join(", ")}`)).toEqual([]);
});

test("The measures of the house do not grow", async () => {
  const { main, all } = exportedNames();
  // `most` is what there was when it was last lowered. Who raises one says why in the commit.
  const measures: readonly Measure[] = [
    { name: "source files", value: files.length, most: 1_066, goal: 1_000 },
    { name: "files under 40 lines with one importer", value: smallFilesOfOne().length, most: 0, goal: 0 },
    { name: "folders with one or two entries", value: smallFolders().length, most: 2, goal: 0 },
    { name: "files in the longest import chain", value: longestChain().length, most: 40, goal: 35 },
    { name: "files that a host call enters", value: (await enteredByHostCall()).length, most: 25, goal: 25 },
    {
      name: "files that a turn over HTTP enters",
      value: (await enteredByHttpTurn("read")).length,
      most: 79,
      goal: 60,
    },
    {
      name: "… with a confirmation",
      value: (await enteredByHttpTurn("confirm")).length,
      most: 100,
      goal: 80,
    },
    {
      name: "test files that import an inside of a module",
      value: testsOfInsides().filter(({ insides }) => insides.length > 0).length,
      most: 156,
      goal: 0,
    },
    { name: "exported names of sandgate", value: main, most: 110, goal: 110 },
    { name: "exported names of all entry points", value: all, most: 358, goal: 360 },
  ];
  console.log(measureTable(measures));
  const grown = measures.filter(({ value, most }) => value > most);
  expect(grown.map(({ name, value, most }) => `${name}: ${value}, at most ${most}`)).toEqual([]);
});
