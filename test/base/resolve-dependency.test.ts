import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { PackageFileError, resolveDependency } from "../../src/base/package-files.ts";

test("a file of a dependency is found", () => {
  expect(existsSync(resolveDependency("@jitl/quickjs-wasmfile-release-sync/wasm"))).toBe(true);
});

test("a dependency that is not installed is a PackageFileError with its cause", () => {
  const resolve = (): string => resolveDependency("sandgate-has-no-such-dependency");
  expect(resolve).toThrow(PackageFileError);
  expect(resolve).toThrow(
    expect.objectContaining({ cause: expect.objectContaining({ code: "MODULE_NOT_FOUND" }) }),
  );
});
